"""Looking inside: previews of nodes and of the whole network, previews on the canvas, numbers of tensors, a run that is held."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from munet import load_project, save_project
from studio import messages
from studio.budget import SHARE
from studio.document import selected
from studio.previews import Bars, Confusion, Facts, Picture, Plane
from studio.preferences import Preferences
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


STORIES = (previews,)
