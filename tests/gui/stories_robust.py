"""What goes wrong around the studio: files, disks, devices, numbers. Each time a message, and nothing that was drawn is lost."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from munet import Node, Session, load_project, save_project
from studio import messages
from studio.commands import AddNode, SetParam
from studio.storage import orphans
from studio.texts import text
from studio.view.gui import dpg
from studio.view.opening import offer_recovery
from tests.gui.hand import PROJECTS, Hand

CRASHED = """
import sys, os
from pathlib import Path
from munet import load_project
from studio.storage import Autosave
Autosave(Path(sys.argv[1])).write(load_project(sys.argv[2]), None)
os.kill(os.getpid(), 9)
"""


def files_that_fail(hand: Hand) -> None:
    """Malformed, newer and strange projects; files that vanish, change or cannot be written, autosaves included."""
    app, core = hand.app, hand.app.core
    document = core.document
    whole: dict[str, Any] = json.loads((PROJECTS / "xor.json").read_text())
    path = hand.folder / "mine.json"
    path.write_text(json.dumps(whole))
    app.actions.open_path(path)
    hand.until(lambda: core.findings.version == document.version)
    mine = document.graph
    newer = whole | {"munet": {"format": 99, "version": "9.0"}}
    for name, content in (("half", json.dumps(whole)[:300]), ("newer", json.dumps(newer)), ("binary", "\0\1\2"), ("list", "[]")):
        bad = hand.folder / f"{name}.json"
        bad.write_text(content)
        core.message_is_error = False
        app.actions.open_path(bad)
        hand.frames(2)
        assert core.message_is_error and name in core.message, core.message
        assert document.graph == mine and document.path == path
    app.actions.open_path(hand.folder / "nothing.json")
    assert core.message_is_error and document.graph == mine

    strange = {**whole, "nodes": [*whole["nodes"], {"id": "odd", "operator": "not_yet_invented", "params": {"a": 1}},
                                  {"id": "pictures", "operator": "image_folder", "params": {"folder": "/nowhere"}}]}  # fmt: skip
    path.write_text(json.dumps(strange))
    app.actions.open_path(path)
    hand.until(lambda: core.findings.version == document.version)
    assert {"odd", "pictures"} <= {problem.node for problem in core.findings.problems}
    hand.key("F5")
    assert core.message_is_error and core.trainer.phase == messages.IDLE
    hand.until(lambda: app.panels.is_seen("problems"), 10.0)
    hand.key("ctrl+s")
    hand.frames(3)
    assert load_project(path).nodes["odd"].params == {"a": 1}

    path.unlink()  # gone while it is open: saving makes it anew
    core.edit(SetParam(("linear 1",), "out_features", 6))
    hand.key("ctrl+s")
    hand.frames(3)
    assert not document.dirty and load_project(path) == document.graph

    path.write_text(json.dumps(whole))  # written by somebody else: it asks
    core.edit(SetParam(("linear 1",), "out_features", 7))
    hand.key("ctrl+s")
    hand.frames(4)
    assert app.dialogs.is_open
    hand.press(app.dialogs.buttons[text("view.cancel")])
    hand.frames(3)
    assert document.dirty and load_project(path) == mine
    hand.key("ctrl+s")
    hand.frames(4)
    hand.press(app.dialogs.buttons[text("view.overwrite")])
    hand.frames(3)
    assert not document.dirty and load_project(path) == document.graph

    saved = document.graph
    core.edit(SetParam(("linear 1",), "out_features", 9))
    with _full_disk():
        hand.key("ctrl+s")
        hand.frames(3)
        assert core.message_is_error and document.dirty
        core.message_is_error = False
        core.autosave_if_due(0.0, at_once=True)
        assert core.message_is_error
    assert load_project(path) == saved and not list(hand.folder.glob(".*.tmp"))
    hand.key("ctrl+s")
    hand.frames(3)
    assert not document.dirty and load_project(path) == document.graph


def runs_that_fail(hand: Hand) -> None:
    """A lost device, numbers that are not finite, a layer beyond all limits: the drawing stays, and Run works again."""
    app, core = hand.app, hand.app.core
    document, trainer = core.document, core.trainer
    path = hand.folder / "spirals.json"
    spirals = load_project(PROJECTS / "spiral_mlp.json")
    save_project(replace(spirals, run=replace(spirals.run, steps=100_000)), path)
    app.actions.open_path(path)
    hand.until(lambda: core.findings.version == document.version)
    drawn = document.graph
    hand.key("F5")
    hand.until(lambda: trainer.record.step > 20)
    trainer.ask("lose", _lose_device, lambda answer: None)
    hand.until(lambda: trainer.phase == messages.FAILED)
    assert core.message_is_error and "lost" in core.message and document.graph == drawn
    hand.key("F5")
    hand.until(lambda: trainer.phase == messages.RUNNING and trainer.record.step > 20)

    core.edit(SetParam(("learning rate",), "rate", 1e30))
    hand.until(lambda: bool(trainer.problems))
    assert trainer.problems[0].node in document.graph.nodes and core.message_is_error
    hand.until(lambda: trainer.phase == messages.PAUSED)
    hand.click(hand.node("linear 1"))
    assert document.selection.nodes == {"linear 1"}, "the window must go on"
    hand.picture("not_finite")
    document.undo()
    core.refresh()
    hand.key("shift+F5")
    hand.key("ctrl+shift+F5")
    hand.until(lambda: trainer.phase == messages.READY and trainer.record.step == 0)

    core.edit(SetParam(("linear 1", "linear 2"), "out_features", 1_000_000))
    hand.until(lambda: core.findings.version == document.version)
    hand.key("F5")
    hand.frames(3)
    assert core.message_is_error and trainer.phase == messages.READY, (trainer.phase, core.message)
    document.undo()
    core.refresh()
    assert document.graph == drawn
    hand.until(lambda: core.findings.version == document.version and not core.findings.problems)
    hand.key("F5")
    hand.until(lambda: trainer.phase == messages.RUNNING and trainer.record.step > 0)
    hand.key("shift+F5")
    hand.until(lambda: trainer.phase == messages.READY)


def _lose_device(session: Session) -> None:
    executor: Any = session.executor  # only Vulkan's has this hook for tests
    executor.inject_loss("submit")


def crashed(hand: Hand) -> None:
    """A studio was killed: its drawing is offered, taken by a click, and not saved until the person saves it."""
    app, core = hand.app, hand.app.core
    folder = core.autosave.folder
    command = [sys.executable, "-c", CRASHED, str(folder), str(PROJECTS / "iris_mlp.json")]
    assert subprocess.run(command, check=False, timeout=60).returncode == -9
    (folder / "torn.autosave.json").write_text('{"path": null, "saved_at')
    offer_recovery(app)
    hand.frames(4)
    hand.press(app.dialogs.buttons[text("view.yes_recover")])
    hand.until(lambda: bool(core.document.graph.nodes))
    assert core.document.graph == load_project(PROJECTS / "iris_mlp.json")
    assert core.document.dirty and core.document.path is None and not orphans(folder)
    blocked = hand.folder / "a file"
    blocked.touch()
    core.autosave.folder = blocked / "autosave"  # as a folder that cannot be made
    core.autosave.close()
    core.edit(AddNode(Node("relu", "relu")))
    core.autosave_if_due(0.0, at_once=True)
    hand.frames(3)
    assert core.message_is_error and dpg.is_dearpygui_running()


def a_panel_that_fails(hand: Hand) -> None:
    """It stands still and says so; everything else goes on."""
    app = hand.app
    hand.open("xor")

    def fault(now: float) -> None:
        raise ValueError("seven")

    app.passes.sync = fault  # type: ignore[method-assign]
    app.panels.show("passes")
    hand.until(lambda: app.core.message_is_error, 10.0)
    assert "Passes" in app.core.message and "seven" in app.core.message
    app.panels.show("problems")
    hand.click(hand.node("linear 1"))
    hand.frames(3)
    assert app.inspector.field("out_features") is not None and app.core.document.selection.nodes == {"linear 1"}


def many_rounds_keep_nothing(hand: Hand) -> None:
    """Edits, undo, redo, selections and panels brought up to date, hundreds of times: no item is left behind."""
    app, core = hand.app, hand.app.core
    document = core.document
    hand.open("spiral_mlp")

    def rounds(count: int) -> None:
        for number in range(count):
            core.edit(AddNode(Node(f"extra {number % 7}", "relu", {}, (40.0 * (number % 9), 300.0))))
            hand.frames(1)
            core.edit(SetParam(("linear 1",), "out_features", 5 + number % 3))
            app.core.document.select_all()
            document.undo()
            document.undo()
            core.refresh()
            hand.frames(1)

    def settled() -> int:
        hand.until(lambda: core.findings.version == document.version)
        hand.frames(5)
        return len(dpg.get_all_items())

    rounds(10)
    before = settled()
    rounds(150)
    assert settled() == before


@contextmanager
def _full_disk() -> Iterator[None]:
    """No file may grow beyond a few bytes, as where the disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


STORIES = (files_that_fail, runs_that_fail, crashed, a_panel_that_fails, many_rounds_keep_nothing)
