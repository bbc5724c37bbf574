"""Looking inside: previews of nodes and of the whole network, previews on the canvas, numbers of tensors, a run that is held."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from munet import load_project, save_project
from studio import messages
from studio.document import selected
from studio.liveparams import SetLive
from studio.previews import Bars, Confusion, Facts, Letters, Picture, Plane
from studio.view import copying
from studio.view.gui import dpg
from tests.gui.hand import PROJECTS, Hand


def choose(hand: Hand, node: str, kind: str = "") -> object:
    """Select a node, choose what is shown of it, and give that."""
    app = hand.app
    app.core.document.select(selected([node] if node else []))
    app.preview.wish = replace(app.preview.wish, kind=kind)

    def there() -> bool:
        seen = app.preview.seen
        return seen is not None and seen.wish.node == node and seen.wish.kind == kind

    hand.until(there)
    hand.frames(4)
    assert app.preview.seen is not None
    return app.preview.seen.shown


def small_digits(hand: Hand) -> None:
    """The convolutional network with batches of 10, so that a step is quick."""
    graph = load_project(PROJECTS / "digits_lenet.json")
    nodes = {**graph.nodes, "digits": replace(graph.nodes["digits"], params={"batch": 10})}
    path = hand.folder / "digits.json"
    save_project(replace(graph, nodes=nodes), path)
    hand.app.actions.open_path(path)
    hand.until(lambda: hand.app.core.findings.version == hand.app.core.document.version)


def previews(hand: Hand) -> None:
    """Each kind of preview of a convolutional network, held; then live while it trains, within its share of the time."""
    app = hand.app
    core = app.core
    small_digits(hand)
    app.panels.show("preview")
    hand.frames(6)
    hand.press(app.preview.open)
    hand.until(lambda: core.trainer.phase == messages.READY)
    assert isinstance(choose(hand, "digits"), Picture)
    hand.picture("preview-image")
    assert isinstance(choose(hand, "conv 1"), Picture)
    assert isinstance(choose(hand, "conv 1", "weights"), Bars)
    assert isinstance(choose(hand, "conv 1", "gradients"), Bars)
    assert isinstance(choose(hand, "relu 3", "statistics"), Facts)
    samples = choose(hand, "")
    assert isinstance(samples, Picture) and len(samples.right) == 20
    matrix = choose(hand, "loss", "confusion")
    assert isinstance(matrix, Confusion) and matrix.counts.sum() == 512
    left, top = dpg.get_item_rect_min(app.preview.confusion.told)
    hand.to((left + 150, top - 60))
    hand.frames(3)
    assert "predicted as" in dpg.get_value(app.preview.confusion.told)
    assert isinstance(choose(hand, "conv 1"), Picture)
    hand.key("alt+p")
    hand.until(lambda: app.preview.seen is not None and app.preview.seen.wish.sample == 1)
    hand.key("shift+p")  # from kind to kind by a key
    hand.until(lambda: app.preview.seen is not None and app.preview.seen.kind == "histogram")
    assert isinstance(choose(hand, "conv 1"), Picture)
    before = app.preview.seen
    core.preferences = replace(core.preferences, look_every_s=0.2)
    app.actions.run("run")
    hand.until(lambda: app.preview.seen is not before and app.preview.seen is not None and app.preview.seen.step > 0)
    app.actions.run("pause")
    hand.until(lambda: core.trainer.phase in (messages.PAUSED, messages.READY))
    hand.until(lambda: app.preview.seen is not None and app.preview.seen.step == core.trainer.record.step)


def wholes(hand: Hand) -> None:
    """What a network does as a whole: classes over the plane, and text that it writes, a few letters at a time."""
    app = hand.app
    core = app.core
    hand.open("spiral_mlp")
    app.panels.show("preview")
    core.trainer.step(200)
    hand.until(lambda: core.trainer.record.step == 200)
    surface = choose(hand, "")
    assert isinstance(surface, Plane) and [kind for kind, _ in surface.points] == [0, 1, 2]
    hand.picture("preview-surface")
    graph = load_project(PROJECTS / "char_gpt.json")
    small = {"text": {"length": 8, "batch": 2, "every": 64}, "letters": {"count": 61, "width": 16}}
    small |= {f"block {number}": {"heads": 2} for number in (1, 2, 3)}
    nodes = {id_: replace(node, params=small.get(id_, node.params)) for id_, node in graph.nodes.items()}
    path = hand.folder / "text.json"
    save_project(replace(graph, nodes=nodes), path)
    app.actions.open_path(path)
    hand.until(lambda: core.findings.version == core.document.version)
    assert core.trainer.hand_over()
    hand.until(lambda: core.trainer.phase == messages.READY)
    assert isinstance(choose(hand, ""), Letters)
    typist = app.preview.typist
    hand.until(lambda: typist.writing is not None and len(typist.writing.written) > 12)
    begun = typist.writing
    hand.press(typist.button)
    hand.until(lambda: typist.writing is not None and typist.writing is not begun and len(typist.writing.written) > 12)
    hand.picture("preview-text")


def tensors(hand: Hand) -> None:
    """P shows a preview below a node and remembers it; V the numbers of a tensor: slices, axes, copy; gradient norms by node."""
    app = hand.app
    core = app.core
    small_digits(hand)
    layer = app.canvas.layer("previews")
    hand.click(hand.node("conv 1"))
    hand.key("p")
    assert dpg.get_item_children(layer, 2) and app.live.pool.get("conv 1") is None
    hand.picture("live-before")
    core.trainer.step(2)
    hand.until(lambda: core.trainer.record.step == 2)
    hand.until(lambda: app.live.pool.get("conv 1") is not None)
    assert core.previews == {"conv 1"} and core.preferences.previews_of(core.document.path) == {"conv 1"}
    zoom = core.camera.zoom
    core.camera.zoom_to((0.0, 0.0), 0.2)
    hand.frames(3)
    assert not dpg.get_item_children(layer, 2)
    core.camera.zoom_to((0.0, 0.0), zoom)
    hand.frames(3)
    assert dpg.get_item_children(layer, 2) and app.live.pool.get("conv 1") is not None
    core.preferences = replace(core.preferences, color_mode="gradient")
    hand.until(lambda: "conv 1" in core.gradient_norms)
    assert core.gradient_norms["conv 1"] > 0 and "relu 1" not in core.gradient_norms
    hand.key("v")
    panel = app.tensor
    hand.until(lambda: panel.name == "conv 1.y" and panel.values is not None)
    assert panel.values is not None and panel.values.shape == (32, 6, 28, 28)
    hand.frames(4)
    hand.press(panel.copy)
    rows = [row.split("\t") for row in copying.copied().split("\n")]
    np.testing.assert_array_equal(np.array(rows, np.float32), panel.values[0, 0])
    for _ in range(len(panel.tensors)):
        if panel.name != "conv 1/weight":
            hand.key("shift+v")
    hand.until(lambda: panel.values is not None and panel.values.shape == (6, 1, 5, 5))
    hand.picture("tensor")
    hand.click(hand.node("conv 1"))
    hand.key("p")
    hand.frames(4)
    assert core.previews == frozenset() and app.live.pool.get("conv 1") is None


def held(hand: Hand) -> None:
    """A rate that is set far too high while it runs: training is held, V shows the guilty node's numbers of the failed step."""
    app = hand.app
    core = app.core
    graph = load_project(PROJECTS / "xor.json")
    adam = replace(graph.nodes["adam"], operator="SGD", params={"lr": 0.01})
    path = hand.folder / "xor.json"
    save_project(replace(graph, nodes={**graph.nodes, "adam": adam}, run=replace(graph.run, steps=2_000_000)), path)
    app.actions.open_path(path)
    hand.until(lambda: core.findings.version == core.document.version)
    app.actions.run("run")
    hand.until(lambda: core.trainer.record.step > 20)
    assert not app.tensor.held
    core.edit(SetLive("adam", "lr", 1e30, "live adam.lr"))
    hand.until(lambda: bool(app.tensor.held))
    assert core.trainer.phase == messages.PAUSED and app.tensor.held in core.problems
    core.document.select(selected([]))
    hand.frames(3)
    app.actions.run("show_values")
    panel = app.tensor
    hand.until(lambda: panel.values is not None and panel.batch == "training")
    hand.frames(3)
    assert panel.node == panel.held
    assert panel.tensor is not None and panel.tensor.kind == "output"
    hand.picture("held")


STORIES = (previews, wholes, tensors, held)
