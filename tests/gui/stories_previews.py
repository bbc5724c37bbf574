"""Looking inside: previews of nodes and of the whole network, previews on the canvas, numbers of tensors, a run that is held."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from munet import load_project, save_project
from studio import messages
from studio.document import selected
from studio.previews import Bars, Confusion, Facts, Picture
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
    assert "samples of class" in dpg.get_value(app.preview.confusion.told)
    assert isinstance(choose(hand, "conv 1"), Picture)
    before = app.preview.seen
    core.preferences = replace(core.preferences, look_every_s=0.2)
    app.actions.run("run")
    hand.until(lambda: app.preview.seen is not before and app.preview.seen is not None and app.preview.seen.step > 0)
    app.actions.run("pause")
    hand.until(lambda: core.trainer.phase in (messages.PAUSED, messages.READY))
    hand.until(lambda: app.preview.seen is not None and app.preview.seen.step == core.trainer.record.step)


def tensors(hand: Hand) -> None:
    """P shows a preview below a node and remembers it; V the numbers of a tensor: slices, axes, copy; gradient norms by node."""
    app = hand.app
    core = app.core
    small_digits(hand)
    core.trainer.step(2)
    hand.until(lambda: core.trainer.record.step == 2)
    hand.click(hand.node("conv 1"))
    hand.key("p")
    hand.until(lambda: app.live.pool.get("conv 1") is not None)
    assert core.previews == {"conv 1"} and core.preferences.previews_of(core.document.path) == {"conv 1"}
    core.preferences = replace(core.preferences, color_mode="gradient")
    hand.until(lambda: "conv 1" in core.gradient_norms)
    assert core.gradient_norms["conv 1"] > 0 and "relu 1" not in core.gradient_norms
    hand.key("v")
    panel = app.tensor
    hand.until(lambda: panel.name == "conv 1.y" and panel.values is not None)
    assert panel.values is not None and panel.values.shape == (32, 6, 28, 28)
    hand.frames(4)
    hand.press(panel.copy)
    rows = [row.split("\t") for row in dpg.get_clipboard_text().split("\n")]
    np.testing.assert_array_equal(np.array(rows, np.float32), panel.values[0, 0])
    panel.name = "conv 1/weight"
    hand.until(lambda: panel.values is not None and panel.values.shape == (6, 1, 5, 5))
    hand.picture("tensor")
    hand.click(hand.node("conv 1"))
    hand.key("p")
    hand.frames(4)
    assert core.previews == frozenset() and app.live.pool.get("conv 1") is None


def held(hand: Hand) -> None:
    """A rate that is far too high: training is held, V shows the guilty node's numbers in the step that failed."""
    app = hand.app
    core = app.core
    graph = load_project(PROJECTS / "xor.json")
    adam = replace(graph.nodes["adam"], operator="SGD", params={"lr": 1e30})
    path = hand.folder / "xor.json"
    save_project(replace(graph, nodes={**graph.nodes, "adam": adam}), path)
    app.actions.open_path(path)
    hand.until(lambda: core.findings.version == core.document.version)
    app.actions.run("run")
    hand.until(lambda: bool(app.tensor.held))
    core.document.select(selected([]))
    hand.frames(3)
    app.actions.run("show_values")
    panel = app.tensor
    hand.until(lambda: panel.values is not None and panel.batch == "training")
    hand.frames(3)
    assert panel.node == panel.held
    assert panel.tensor is not None and panel.tensor.kind == "output"
    hand.picture("held")


STORIES = (previews, tensors, held)
