"""From an empty canvas to a trained network, by mouse and keyboard alone; then the same file without a window."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable

from munet import Graph, Session, load_project
from studio import messages
from studio.texts import text
from studio.view.gui import dpg
from tests.gui.hand import PROJECTS, Hand, Point

STEPS, SEED = 1_000_000, 1  # enough to be paused in the middle on a fast device
FEWER = 400  # of the run that is compared
# Nodes by search, in pixels from the canvas' corner once it has been zoomed out; wires by drag; parameters as they are typed.
NODES = (
    ("spiral", (20, 80)), ("Linear", (140, 80)), ("relu", (260, 80)), ("Linear", (380, 80)), ("relu", (500, 80)),
    ("Linear", (620, 80)), ("cross_entropy", (380, 230)), ("accuracy", (500, 330)), ("cosine", (140, 300)), ("Adam", (640, 230)),
)  # fmt: skip
WIRES = (
    "spiral.x -> Linear.x", "Linear.y -> relu.x", "relu.y -> Linear 2.x", "Linear 2.y -> relu 2.x", "relu 2.y -> Linear 3.x",
    "Linear 3.y -> cross entropy.logits", "spiral.label -> cross entropy.label", "Linear 3.y -> accuracy.logits",
    "spiral.label -> accuracy.label", "cross entropy.loss -> Adam.loss", "cosine.rate -> Adam.rate",
)  # fmt: skip
TYPED = (
    ("spiral", "noise", "0.03"), ("spiral", "batch", "60"), ("Linear", "out_features", "64"), ("Linear 2", "out_features", "64"),
    ("Linear 3", "out_features", "3"), ("cosine", "rate", "0.01"), ("cosine", "steps", "5000"),
)  # fmt: skip


def acceptance(hand: Hand) -> None:
    """Build spiral_mlp, train it, pause, change the learning rate, undo, save, open again; without a window: the same loss."""
    core = hand.app.core
    document = core.document
    _build(hand)
    assert _essence(document.graph) == _essence(load_project(PROJECTS / "spiral_mlp.json"))
    hand.picture("built")

    hand.key("F5")
    hand.until(lambda: core.trainer.record.step > 40)
    hand.press(hand.app.train.buttons["pause"])
    hand.until(lambda: core.trainer.phase == messages.PAUSED)
    losses = core.trainer.record.series["loss"].values
    assert losses[-1] < 0.95 * losses[0]
    paused_at = core.trainer.record.step
    hand.picture("paused")

    depth = len(document.undo_labels)
    hand.click(hand.node("cosine"))
    hand.enter("rate", "0.004")
    assert document.part.nodes["cosine"].params["rate"] == 0.004
    assert core.trainer.is_current, "a live value must not ask for a recompile"
    _asked(hand, lambda session: session.live["cosine.rate"], 0.004)
    hand.click(_empty(hand))
    hand.key("ctrl+z")
    assert document.part.nodes["cosine"].params["rate"] == 0.01 and len(document.undo_labels) == depth
    _asked(hand, lambda session: session.live["cosine.rate"], 0.01)
    hand.key("F6")
    hand.until(lambda: core.trainer.record.step > paused_at)
    hand.key("shift+F5")
    hand.until(lambda: core.trainer.phase == messages.READY)
    hand.click(_empty(hand))
    hand.enter(text("view.steps"), str(FEWER))
    assert document.graph.run.steps == FEWER

    path = hand.folder / "spirals.json"
    hand.key("ctrl+shift+s")
    hand.file(path)
    hand.until(lambda: path.is_file() and not document.dirty)
    built = document.graph
    hand.key("ctrl+n")
    hand.frames(4)
    assert not document.graph.nodes
    hand.key("ctrl+o")
    hand.file(path)
    hand.until(lambda: document.graph == built and document.path == path)

    # Undone is undone: a fresh run, and one without a window, end with the same loss.
    hand.key("F5")
    hand.until(lambda: core.trainer.record.step >= FEWER and core.trainer.phase == messages.READY)
    ours = core.trainer.record.series["loss"].values[-1]
    command = [sys.executable, "-m", "munet", "run", str(path), "--device", "auto", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    report = json.loads(done.stdout[done.stdout.index("{") :])
    assert report["steps"] == FEWER
    theirs = report["metrics"]["loss"]
    assert abs(ours - theirs) <= 1e-6 * abs(theirs), f"{ours} in the window, {theirs} without"


def _build(hand: Hand) -> None:
    core, document = hand.app.core, hand.app.core.document
    left, top = hand.app.canvas.origin
    hand.to(_empty(hand))
    hand.key(*["ctrl+minus"] * 4)
    for name, (x, y) in NODES:
        before = len(document.part.nodes)
        hand.to((left + x, top + y))
        hand.key("Tab")
        assert hand.app.search.is_open, f"no search for {name}"
        hand.type(name)
        hand.until(lambda name=name: dpg.get_value(hand.app.search.input) == name, 10)
        hand.key("Return")
        hand.until(lambda before=before: len(document.part.nodes) > before, 10)
        found = list(document.part.nodes.values())
        assert len(found) == before + 1 and found[-1].operator == name, f"{name}: {[node.operator for node in found]}"
    hand.until(lambda: core.findings.version == document.version)
    for wire in WIRES:
        (source, output), (target, into) = (end.rsplit(".", 1) for end in wire.split(" -> "))
        count = len(document.part.edges)
        hand.drag(hand.socket(source, "out", output), hand.socket(target, "in", into))
        assert len(document.part.edges) == count + 1, f"{wire}: {core.message}"
    for node, param, value in TYPED:
        hand.click(hand.node(node))
        hand.enter(param, value)
        assert str(document.part.nodes[node].params[param]) == value, f"{node}.{param}"
    hand.click(_empty(hand))
    for label, value in (("view.steps", STEPS), ("view.seed", SEED)):
        hand.enter(text(label), str(value))
    assert (document.graph.run.steps, document.graph.run.seed) == (STEPS, SEED)
    hand.until(lambda: core.findings.version == document.version)
    assert not core.findings.problems


def _asked(hand: Hand, look: Callable[[Session], float], wanted: float) -> None:
    """What the running session says itself."""
    found: list[float] = []
    assert hand.app.core.trainer.ask("test", look, found.append)
    hand.until(lambda: bool(found))
    assert found[0] == wanted


def _empty(hand: Hand) -> Point:
    """A place on the canvas where nothing lies."""
    left, top = hand.app.canvas.origin
    return left + 20, top + 430


def _essence(graph: Graph) -> tuple[Counter[str], Counter[str]]:
    """What a drawing is, but for names and places; steps aside, which the story makes fewer."""

    def kind(id_: str) -> str:
        params = {name: value for name, value in graph.nodes[id_].params.items() if name != "steps"}
        return f"{graph.nodes[id_].operator} {sorted(params.items())}"

    wires = (f"{kind(e.source)}.{e.source_socket} -> {kind(e.target)}.{e.target_socket}" for e in graph.edges)
    return Counter(map(kind, graph.nodes)), Counter(wires)


STORIES = (acceptance,)
