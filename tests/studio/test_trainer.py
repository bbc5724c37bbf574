"""The window's side of a session, without the window: what happens while it compiles; where a run was held."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from munet import Session
from munet.inspect import read_run
from studio import messages
from studio.commands import Delete, Rename
from studio.preferences import Preferences
from studio.storage import Autosave
from studio.texts import text
from studio.view.core import Core
from tests.studio.helpers import project

LIMIT_S = 20.0


def made(tmp_path: Path, open_session: Callable[..., Session] = Session.open, **settings: Any) -> Core:
    core = Core(Preferences(device="cpu", **settings), open_session)
    core.autosave = Autosave(tmp_path)
    core.trainer.runs_root = tmp_path / "runs"
    graph = project("xor")
    core.open(replace(graph, run=replace(graph.run, steps=10**9, evaluate_every=0, checkpoint_every=0)), None)
    until(core, lambda: core.findings.version == core.document.version)
    return core


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Core]:
    core = made(tmp_path)
    yield core
    core.close()


def until(core: Core, ready: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not ready():
        assert time.monotonic() < end, f"it did not happen; phase {core.trainer.phase}, {core.message}"
        core.tick(time.monotonic())
        time.sleep(0.002)


def slowed(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    real = Session.replace

    def slowly(self: Session, graph: Any, **options: Any) -> Any:
        time.sleep(seconds)
        return real(self, graph, **options)

    monkeypatch.setattr(Session, "replace", slowly)


def runs(core: Core) -> bool:
    return core.trainer.phase == messages.RUNNING and core.trainer.record.step > 0


def test_what_is_drawn_during_a_compile_is_compiled_next(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = core.trainer
    trainer.run()
    until(core, lambda: runs(core))
    slowed(monkeypatch, 0.8)  # longer than the drawing waits for its check
    core.set_param("linear 1", "out_features", 9)
    until(core, lambda: trainer.phase == messages.COMPILING)
    core.set_param("linear 1", "out_features", 11)
    seen = trainer.session_version
    until(core, lambda: trainer.session_version >= seen + 2 and trainer.phase == messages.RUNNING)
    shapes: list[Any] = []
    assert trainer.ask("shape", lambda session: session.states()["linear 1/weight"].shape, shapes.append)
    until(core, lambda: bool(shapes))
    assert 11 in shapes[0] and not trainer.is_behind


def test_pause_during_a_compile_holds_what_goes_on_after_it(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = core.trainer
    trainer.run()
    until(core, lambda: runs(core))
    slowed(monkeypatch, 0.3)
    core.set_param("linear 1", "out_features", 9)
    until(core, lambda: trainer.phase == messages.COMPILING)
    trainer.pause()
    until(core, lambda: trainer.phase == messages.PAUSED)
    assert trainer.is_current
    trainer.pause()
    until(core, lambda: runs(core))


def test_closing_ends_compiles_that_have_not_even_begun(tmp_path: Path) -> None:
    def slow(*arguments: Any, progress: Any, **options: Any) -> Session:
        def slowly(stage: str, fraction: float) -> None:
            for _ in range(1000):
                progress(stage, fraction)
                time.sleep(0.01)

        return Session.open(*arguments, progress=slowly, **options)

    core = made(tmp_path, slow)
    core.trainer.run()
    started = time.monotonic()
    core.close()  # at once: the worker may not have taken the first command yet
    assert time.monotonic() - started < 5.0


def test_a_project_with_problems_is_not_run_and_says_so(core: Core) -> None:
    core.set_param("linear 1", "out_features", -3)
    until(core, lambda: core.findings.version == core.document.version)
    assert core.findings.problems
    core.trainer.run()
    core.tick(time.monotonic())
    assert core.message == text("view.cannot_run") and core.message_is_error
    assert core.trainer.phase == messages.IDLE


def test_an_empty_drawing_is_told_once_not_in_each_frame(core: Core) -> None:
    core.trainer.step()
    until(core, lambda: core.trainer.phase == messages.PAUSED)
    core.document.select_all()
    core.edit(Delete(core.document.selection))
    until(core, lambda: core.findings.version == core.document.version)
    before = core.log.version
    for _ in range(20):
        core.tick(time.monotonic())
    assert core.log.version <= before + 1


@pytest.mark.parametrize("how", ["steps", "run"])
def test_a_run_that_was_held_stands_at_its_step(core: Core, how: str) -> None:
    """The learning rate is set to something absurd after a while: the step before the failure is where it stands."""
    trainer = core.trainer
    trainer.step(30)
    until(core, lambda: trainer.phase == messages.PAUSED and trainer.record.step == 30)
    core.set_param("adam", "lr", 1e38)
    until(core, lambda: trainer.live["adam.lr"] == 1e38)
    if how == "steps":
        trainer.step(1000)
    else:
        trainer.run()
    until(core, lambda: bool(trainer.problems) and trainer.phase == messages.PAUSED)
    at: list[int] = []
    assert trainer.ask("step", lambda session: session.step_count, at.append)
    until(core, lambda: bool(at))
    assert trainer.record.step == at[0] >= 30
    assert trainer.record.series["loss"].steps[-1] == at[0], "the curve ends where the run does"


def test_a_run_whose_folder_was_deleted_is_found_again(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.keeping.LOOK_EVERY_S", 0.0)
    trainer = core.trainer
    trainer.run()
    until(core, lambda: runs(core) and trainer.folder is not None)
    folder = trainer.folder
    assert folder is not None
    shutil.rmtree(folder)
    until(core, lambda: any("deleted during training" in line.words for line in core.log.lines))
    assert trainer.phase == messages.RUNNING
    trainer.save_checkpoint()
    until(core, lambda: trainer.saved_step > 0)
    trainer.stop()
    until(core, lambda: trainer.phase == messages.READY)
    found = read_run(folder)
    assert found.checkpoints and found.step == trainer.record.step
    assert len({str(line.words) for line in core.log.lines if "deleted during" in line.words}) == 1


def test_a_run_whose_folder_was_deleted_while_it_was_held_can_be_saved(core: Core) -> None:
    trainer = core.trainer
    trainer.run()
    until(core, lambda: runs(core) and trainer.folder is not None)
    trainer.pause()
    until(core, lambda: trainer.phase == messages.PAUSED)
    folder = trainer.folder
    assert folder is not None
    shutil.rmtree(folder)
    trainer.save_checkpoint()
    until(core, lambda: trainer.saved_step == trainer.record.step)
    assert [point.step for point in read_run(folder).checkpoints] == [trainer.record.step]


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of file sizes there")
def test_a_full_disk_is_told_and_what_was_saved_before_stays(core: Core) -> None:
    import resource

    trainer = core.trainer
    trainer.run()
    until(core, lambda: runs(core) and trainer.folder is not None)
    trainer.save_checkpoint()
    until(core, lambda: trainer.saved_step > 0)
    folder, saved = trainer.folder, trainer.saved_step
    assert folder is not None
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))  # no file may grow beyond a few bytes
    try:
        trainer.save_checkpoint()
        until(core, lambda: "file cannot be written" in core.message or "last.safetensors" in core.message)
        reached = trainer.record.step
        until(core, lambda: trainer.record.step > reached + 20)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    told = [line for line in core.log.lines if line.error]
    assert told and all("File too large" in line.words and str(folder) in line.words for line in told)
    assert trainer.phase == messages.RUNNING and not list(folder.glob(".*.tmp"))
    assert [checkpoint.step for checkpoint in read_run(folder).checkpoints] == [saved]
    trainer.save_checkpoint()  # there is room again
    until(core, lambda: trainer.saved_step > saved)


def states(core: Core) -> dict[str, Any]:
    found: list[dict[str, Any]] = []
    assert core.trainer.ask("states", lambda session: session.states(), found.append)
    until(core, lambda: bool(found))
    return found[0]


def test_a_rename_keeps_what_was_trained_and_checkpoints_of_before_fit(core: Core) -> None:
    trainer = core.trainer
    trainer.step(20)
    until(core, lambda: trainer.record.step == 20 and trainer.phase == messages.PAUSED)
    before = states(core)
    trainer.save_checkpoint()
    until(core, lambda: trainer.saved_step == 20)
    assert trainer.folder is not None
    checkpoint = trainer.folder / "step-20.safetensors"
    core.edit(Rename("linear 1", "dense"))
    core.edit(Rename("adam", "learner"))
    until(core, lambda: trainer.is_current and trainer.phase == messages.PAUSED)
    after = states(core)
    assert (after["dense/weight"] == before["linear 1/weight"]).all()
    assert (after["learner/dense/weight/m"] == before["adam/linear 1/weight/m"]).all()
    trainer.step(5)
    until(core, lambda: trainer.record.step == 25 and trainer.phase == messages.PAUSED)
    trainer.resume(checkpoint, read_run(checkpoint.parent))
    until(core, lambda: trainer.record.step == 20 and not trainer.busy)
    assert (states(core)["learner/dense/weight/m"] == before["adam/linear 1/weight/m"]).all()
    core.document.undo()
    core.document.undo()
    core.refresh()
    until(core, lambda: trainer.is_current and trainer.phase == messages.PAUSED)
    assert all((array == before[name]).all() for name, array in states(core).items())


def test_a_checkpoint_has_the_metrics_of_its_own_step_and_brings_them_back(core: Core) -> None:
    trainer = core.trainer
    trainer.step(7)
    until(core, lambda: trainer.record.step == 7 and trainer.phase == messages.PAUSED)
    trainer.evaluate()
    until(core, lambda: bool(trainer.record.held_out))
    first = dict(trainer.record.last)
    trainer.save_checkpoint()
    until(core, lambda: trainer.saved_step == 7)
    folder = trainer.folder
    assert folder is not None
    trainer.step(6)
    until(core, lambda: trainer.record.step == 13 and trainer.phase == messages.PAUSED)
    last = dict(trainer.record.last)
    trainer.save_checkpoint()
    until(core, lambda: trainer.saved_step == 13)
    run = read_run(folder)
    by_step = {checkpoint.step: checkpoint.metrics for checkpoint in run.checkpoints}
    assert by_step[7].items() >= first.items() and "test.loss" in by_step[7]
    assert dict(by_step[13]) == last  # no evaluation of an older step
    trainer.reset()
    until(core, lambda: trainer.phase == messages.READY)
    trainer.step(3)
    until(core, lambda: trainer.record.step == 3 and trainer.phase == messages.PAUSED)
    trainer.resume(folder / "step-13.safetensors", run)
    until(core, lambda: trainer.record.step == 13 and not trainer.busy)
    assert trainer.record.last == last and text("train.goes_on") in core.message


def test_messages_go_with_their_moment_and_the_log_keeps_them(core: Core) -> None:
    core.say("something failed", error=True)
    core.edit(Rename("nowhere", "adam"))
    assert core.message_is_error  # that edit was refused
    core.edit(Rename("linear 1", "dense"))
    assert core.message == "" and "something failed" in core.log.text
    core.say("told")
    core.tick(time.monotonic())
    assert core.message == "told"
    core.tick(time.monotonic() + 11.0)
    assert core.message == ""
    core.say("failed", error=True)
    core.tick(time.monotonic() + 11.0)
    assert core.message == "failed"
    core.open(project("xor"), None)
    assert core.message == ""


def test_an_empty_drawing_is_no_drawing_with_problems(core: Core) -> None:
    core.open(replace(project("xor"), name="", nodes={}, edges=()), None)
    core.trainer.run()
    assert core.message == text("train.empty") and core.trainer.refusals == 0


def test_projects_without_a_name_share_no_runs(core: Core) -> None:
    core.open(replace(project("xor"), name=""), None)
    one = core.trainer.runs_folder
    assert one == core.trainer.runs_folder
    core.open(replace(project("xor"), name=""), None)
    assert core.trainer.runs_folder != one
