"""Training live: buttons, live values, a changed drawing, earlier runs, exports, checkpoints."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from munet import load_project, save_project
from studio import messages
from studio.commands import SetParam
from studio.texts import text
from studio.view import copying
from studio.view.gui import dpg
from tests.gui.hand import PROJECTS, Hand


def _open(hand: Hand, steps: int) -> None:
    """xor with another number of steps, so that it is not over too soon."""
    core, path = hand.app.core, hand.folder / "xor.json"
    graph = load_project(PROJECTS / "xor.json")
    save_project(replace(graph, run=replace(graph.run, steps=steps)), path)
    core.trainer.runs_root = hand.folder / "kept"
    hand.app.actions.open_path(path)
    hand.until(lambda: core.findings.version == core.document.version)
    hand.frames(4)


def _asked(hand: Hand, call: Callable[[Any], Any]) -> Any:
    """What the session says, between two submits."""
    found: list[Any] = []
    assert hand.app.core.trainer.ask("story", call, found.append)
    hand.until(lambda: bool(found), 20.0)
    return found[0]


def train_live(hand: Hand) -> None:
    """Run, change the learning rate meanwhile, undo; pause, steps, evaluate, stop, reset; structure changed while it runs."""
    app, core = hand.app, hand.app.core
    trainer, document = core.trainer, core.document
    _open(hand, 2_000_000)
    buttons = app.train.buttons
    hand.press(buttons["run"])
    hand.until(lambda: trainer.record.step > 20 and trainer.phase == messages.RUNNING)
    assert not dpg.is_item_enabled(buttons["run"]) and dpg.is_item_enabled(buttons["pause"])

    before = _asked(hand, lambda session: session.live["adam.lr"])
    session = trainer.session_version
    hand.until(lambda: "adam.lr" in app.train.live)
    hand.frames(3)
    left, top = dpg.get_item_rect_min(app.train.live["adam.lr"])
    hand.double_click((left + 20, top + 10))
    hand.key("ctrl+a")
    hand.type("0.0125")
    hand.key("Return")
    hand.until(lambda: document.part.nodes["adam"].params["lr"] == 0.0125)
    hand.until(lambda: trainer.live["adam.lr"] == 0.0125)
    assert _asked(hand, lambda session: session.live["adam.lr"]) == 0.0125
    assert trainer.phase == messages.RUNNING and trainer.session_version == session, "a live value needs no compile"
    hand.picture("running")
    app.actions.run("undo")
    hand.until(lambda: trainer.live["adam.lr"] == before)
    hand.frames(3)
    steps = len(document.undo_labels)
    for count in (1, 2):  # each drag is a step of undo; from another place, as two presses at one are a double click
        hand.drag((left + 30 * count, top + 10), (left + 30 * count + 35, top + 10))
        hand.until(lambda: len(document.undo_labels) == steps + count)  # noqa: B023  # called within this round
    hand.key("ctrl+z", "ctrl+z")
    hand.until(lambda: trainer.live["adam.lr"] == before)
    assert _asked(hand, lambda session: session.live["adam.lr"]) == before
    hand.frames(3)
    assert abs(dpg.get_value(app.train.live["adam.lr"]) - before) < 1e-6

    core.edit(SetParam(("linear 1",), "out_features", 24))  # the first layer and what reads it start anew, the rest is kept
    hand.until(lambda: trainer.session_version > session and trainer.phase == messages.RUNNING)
    assert any(line.words.startswith("New drawing in use from step") for line in core.log.lines)
    assert trainer.is_current and trainer.record.step > 20

    hand.press(buttons["pause"])
    hand.until(lambda: trainer.phase == messages.PAUSED)
    held = trainer.record.step
    hand.press(buttons["step"])
    hand.until(lambda: trainer.record.step == held + 1 and trainer.phase == messages.PAUSED)
    dpg.set_value(app.train.count, 7)
    hand.press(buttons["step_many"])
    hand.until(lambda: trainer.record.step == held + 8 and trainer.phase == messages.PAUSED)
    hand.press(buttons["evaluate"])
    hand.until(lambda: core.message.startswith("Held out"))
    hand.press(buttons["stop"])
    hand.until(lambda: trainer.phase == messages.READY)
    hand.press(buttons["reset"])
    hand.until(lambda: trainer.record.step == 0 and trainer.phase == messages.READY and not trainer.record.series)
    assert _asked(hand, lambda session: session.step_count) == 0


def earlier_runs(hand: Hand) -> None:
    """Two runs; the first is laid over the second; PNG and CSV; a checkpoint by Ctrl+K, and training goes on from it."""
    app, core = hand.app, hand.app.core
    trainer = core.trainer
    _open(hand, 400)
    first: Path | None = None
    for _ in range(2):
        hand.key("F5")
        hand.until(lambda: trainer.record.step >= 400 and trainer.phase == messages.READY)
        first = trainer.folder
        hand.key("ctrl+shift+F5")
        hand.until(lambda: trainer.record.step == 0 and trainer.phase == messages.READY)
    assert first is not None
    hand.key("F5")
    hand.until(lambda: trainer.record.step >= 400 and trainer.phase == messages.READY)
    runs = app.panels
    runs.show("runs")
    hand.until(lambda: len(app.past.listing.runs) == 3)
    hand.frames(4)
    panel: Any = app._seen_panels["runs"]
    hand.press(panel.checks[str(first)])
    hand.until(lambda: app.past.overlaid == {str(first)})
    _name_pin_delete(hand, panel, str(first))
    app.panels.show("plots")
    hand.until(lambda: any(str(first) in key for key in app.plots.charts[0].shown))
    hand.picture("runs")

    follow = core.preferences.follow_plots
    assert follow
    left, top = dpg.get_item_rect_min(app.plots.charts[0].plot)
    width, height = dpg.get_item_rect_size(app.plots.charts[0].plot)
    hand.to((left + width / 2, top + height / 2))
    hand.x("click", "4")
    assert not core.preferences.follow_plots and not dpg.get_value(app.plots.follow)
    hand.double_click((left + width / 2, top + height / 2))
    hand.until(lambda: core.preferences.follow_plots)

    hand.press(app.plots.log)
    hand.until(lambda: core.preferences.log_axis and app.plots.charts[0].is_log, 10.0)
    app.actions.run("plot_log")
    assert not core.preferences.log_axis and not dpg.get_value(app.plots.log)
    hand.press(app.plots.smoothing)
    hand.until(lambda: abs(core.preferences.smoothing - 0.5) < 0.1, 10.0)
    app.actions.run("overlay_last")
    assert len(app.past.earlier) == 0
    app.actions.run("overlay_last")
    assert list(app.past.earlier) == ["first try"]

    app.actions.run("export_csv")
    hand.file(hand.folder / "curves.csv")
    written = hand.folder / "curves.csv"
    hand.until(written.is_file)
    rows = list(csv.DictReader(written.open(encoding="utf-8")))
    assert len(rows) == 400 and len(rows[0]) >= 3 and float(rows[-1]["loss"]) < float(rows[0]["loss"])
    app.actions.run("export_plot_png")
    hand.file(hand.folder / "curves.png")
    drawn = hand.folder / "curves.png"
    hand.until(drawn.is_file)
    assert len(np.unique(np.asarray(Image.open(drawn)).reshape(-1, 3), axis=0)) > 20

    hand.key("ctrl+k")
    hand.until(lambda: trainer.saved_step == 400 and not trainer.busy)
    assert trainer.folder is not None
    saved = str(Path(trainer.folder) / "step-400.safetensors")
    app.panels.show("runs")
    hand.frames(4)
    hand.press(panel.tabs["checkpoints"])
    hand.until(lambda: saved in panel.resumes)
    hand.key("F5")
    hand.until(lambda: trainer.record.step >= 800 and trainer.phase == messages.READY)
    core.edit(SetParam(("linear 1",), "out_features", 24))
    hand.until(lambda: core.findings.version == core.document.version)
    hand.until(lambda: saved in panel.resumes)
    hand.frames(4)
    hand.press(panel.resumes[saved])
    hand.until(lambda: trainer.record.step == 400 and trainer.phase == messages.PAUSED)
    assert core.message.startswith("Resumed at step 400") and "new:" in core.message
    assert _asked(hand, lambda session: session.step_count) == 400


def _name_pin_delete(hand: Hand, panel: Any, path: str) -> None:
    """By mouse, with a question before anything goes; the run that trains is spared."""
    app, past = hand.app, hand.app.past
    middle = next(run.path for run in past.listing.runs if run.path != path and not past.is_now(run))
    hand.press(panel.edits[path])
    hand.until(lambda: "name" in app.dialogs.fields, 10.0)
    hand.frames(4)
    hand.press(app.dialogs.fields["name"])
    hand.key("ctrl+a")
    hand.type("first try")
    hand.key("Return")
    hand.until(lambda: "first try" in past.earlier, 10.0)
    hand.frames(4)
    hand.press(panel.pins[path])
    hand.until(lambda: past.listing.label(past.earlier["first try"]).pinned, 10.0)
    hand.frames(4)
    now = next(run.path for run in past.listing.runs if past.is_now(run))
    assert not dpg.is_item_enabled(panel.deletes[now])
    hand.press(panel.deletes[middle])
    hand.frames(4)
    assert app.dialogs.is_open and Path(middle).is_dir()
    hand.press(app.dialogs.buttons[text("runs.delete")])
    hand.until(lambda: not Path(middle).exists() and len(past.listing.runs) == 2, 10.0)


def _fits_at_any_scale(hand: Hand) -> None:
    """The scale is changed while the window is open: nothing of the panel of training lies beside it."""
    app = hand.app
    app.panels.show("training")
    for scale in (2.0, 0.75):
        app.comfort.settings.set("ui_scale", scale)
        hand.key("Escape")
        hand.frames(8)
        box = app.panels.box("training")
        left, right = dpg.get_item_pos(box)[0], dpg.get_item_pos(box)[0] + dpg.get_item_width(box)
        for name, button in (*app.train.buttons.items(), ("count", app.train.count)):
            start = dpg.get_item_rect_min(button)[0]
            assert left <= start and start + dpg.get_item_rect_size(button)[0] <= right, (name, scale)
        assert dpg.get_item_height(app.train.bar) >= 15 * scale


def panels_of_training(hand: Hand) -> None:
    """Devices are found and one is chosen, with the run's state; the log has what was told; opening a project shows the graph."""
    app, core = hand.app, hand.app.core
    trainer = core.trainer
    _open(hand, 400)
    hand.key("F10")
    hand.until(lambda: trainer.record.step == 1 and trainer.phase == messages.PAUSED)
    app.panels.show("device")
    panel = app.devices
    hand.until(lambda: panel.list.found is not None)
    hand.frames(6)
    hand.picture("devices")
    left, top = dpg.get_item_rect_min(panel.choice)
    width, height = dpg.get_item_rect_size(panel.choice)
    place = list(panel._labels).index("cpu")
    hand.press(panel.choice)
    hand.click((left + width / 2, top + height + 12 + 20 * place))
    hand.until(lambda: trainer.device == "NumPy reference" and trainer.phase == messages.PAUSED)
    assert _asked(hand, lambda session: session.step_count) == 1
    assert core.preferences.device == "cpu"
    app.actions.run("next_device")  # by keyboard, out of the palette of commands
    hand.until(lambda: trainer.device != "NumPy reference" and trainer.phase == messages.PAUSED)
    assert core.preferences.device == "auto" and _asked(hand, lambda session: session.step_count) == 1
    app.panels.show("log")
    hand.frames(6)
    assert any("NumPy reference" in line.words for line in core.log.lines)
    hand.picture("log")
    log: Any = app._seen_panels["log"]
    hand.press(log.copy)
    assert "NumPy reference" in copying.copied()
    hand.press(log.clear)
    hand.until(lambda: not core.log.lines, 10.0)
    _fits_at_any_scale(hand)
    app.panels.show("shaders")
    hand.frames(4)
    assert not app.panels.is_seen("graph")
    app.actions.open_path(PROJECTS / "spiral_mlp.json")
    hand.frames(6)
    assert app.panels.is_seen("graph")


STORIES = (train_live, earlier_runs, panels_of_training)
