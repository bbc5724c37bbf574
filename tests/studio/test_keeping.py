"""A run that is written down: its folder, checkpoints, going back to one, another device; what is stopped on its way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from munet import Finished, Graph, Saved, Session
from munet.inspect import read_run
from studio.jobs import Jobs
from studio.messages import (
    IDLE,
    PAUSED,
    READY,
    RUNNING,
    Compiling,
    Failed,
    Keep,
    Kept,
    Load,
    Message,
    Metrics,
    Move,
    Open,
    Opened,
    Phase,
    Replace,
    Reset,
    Run,
    Save,
    Step,
    Stop,
    Told,
)
from tests.studio.test_jobs import Desk, xor


def slow(*arguments: Any, progress: Any, **options: Any) -> Session:
    """A session whose compiles take half a minute unless somebody ends them."""

    def slowly(stage: str, fraction: float) -> None:
        for _ in range(300):
            progress(stage, fraction)
            time.sleep(0.01)

    return Session.open(*arguments, progress=slowly, **options)


@pytest.fixture
def desk() -> Iterator[Desk]:
    jobs = Jobs()
    yield Desk(jobs)
    assert jobs.close(), "the worker did not end"


def wider(graph: Graph) -> Graph:
    return replace(graph, nodes={**graph.nodes, "linear 1": replace(graph.nodes["linear 1"], params={"out_features": 9})})


def saved(message: Message) -> bool:
    return isinstance(message, Told) and isinstance(message.event, Saved)


def finished(message: Message) -> bool:
    return isinstance(message, Told) and isinstance(message.event, Finished)


def opened(message: Message) -> bool:
    return isinstance(message, Opened)


def test_compiling_is_told_and_can_be_ended():
    jobs = Jobs(slow)
    desk = Desk(jobs)
    jobs.submit(Open(xor(), "cpu"))
    jobs.submit(Run())
    desk.until(lambda message: isinstance(message, Compiling))
    assert jobs.cancel()
    failed = desk.failed()
    assert (failed.kind, failed.command) == ("cancelled", "Open")
    desk.phase(IDLE)
    time.sleep(0.1)
    list(desk.take())
    assert not any(isinstance(message, Failed) and message is not failed for message in desk.seen)  # the Run went with it
    assert not jobs.cancel()
    assert jobs.close()


def test_a_cancelled_drawing_leaves_the_run_as_it_was(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    real = Session.replace

    def slowly(self: Session, graph: Graph, *, progress: Any = None, **options: Any) -> Any:
        for _ in range(3000):
            progress("lowering", 0.0)
            time.sleep(0.01)
        return real(self, graph, progress=progress, **options)

    monkeypatch.setattr(Session, "replace", slowly)
    desk.open(xor())
    desk.jobs.submit(Run())
    desk.until(lambda message: isinstance(message, Metrics))
    desk.jobs.submit(Replace(wider(xor()), 2))
    desk.until(lambda message: isinstance(message, Compiling))
    assert desk.jobs.cancel()
    assert desk.failed().kind == "cancelled"
    before = desk.ask(lambda session: session.step_count)
    desk.until(lambda message: isinstance(message, Metrics) and message.step > before)
    assert desk.ask(lambda session: session.graph) == xor()


def test_many_steps_are_all_told_and_can_be_stopped(desk: Desk):
    desk.open(xor())
    desk.jobs.submit(Step(200))
    desk.until(lambda message: isinstance(message, Metrics) and message.step == 200)
    assert sum(len(m.rows) for m in desk.seen if isinstance(m, Metrics)) == 200
    desk.phase(PAUSED)
    desk.jobs.submit(Step(10_000_000))
    desk.phase(RUNNING)
    desk.jobs.submit(Stop())
    desk.phase(READY)
    assert desk.ask(lambda session: session.step_count) < 10_000_000


def test_a_run_is_kept_and_gone_back_to(desk: Desk, tmp_path: Path):
    desk.open(xor(60))
    desk.jobs.submit(Run(40, Keep(tmp_path / "one")))
    assert desk.until(lambda message: isinstance(message, Kept)) == Kept(tmp_path / "one")
    desk.until(finished)
    desk.jobs.submit(Save())
    desk.until(saved)
    states = desk.ask(lambda session: session.states())
    desk.jobs.submit(Run(60, Keep(tmp_path / "ignored")))
    desk.until(lambda message: finished(message) and message.event.step == 60)  # type: ignore[union-attr]
    run = read_run(tmp_path / "one")
    assert run.step == 60 and {checkpoint.step for checkpoint in run.checkpoints} == {40, 60}
    assert not (tmp_path / "ignored").exists()
    desk.jobs.submit(Replace(wider(xor(60)), 2))
    desk.until(opened)
    desk.jobs.submit(Load(tmp_path / "one" / "step-40.safetensors", partial=True))
    message = desk.until(opened)
    assert isinstance(message, Opened) and message.step == 40 and message.carried is not None
    assert "linear 1/weight" in message.carried.started and "linear 2/bias" in message.carried.kept
    now = desk.ask(lambda session: session.states())
    assert np.array_equal(now["linear 2/bias"], states["linear 2/bias"])
    desk.jobs.submit(Run(50, Keep(tmp_path / "two")))
    desk.until(finished)
    steps = read_run(tmp_path / "two").series["loss"][0]  # its own, and those of the run before up to the checkpoint
    assert steps[0] <= 40 < steps[-1] <= 50 and steps == sorted(steps)
    assert read_run(tmp_path / "one").step == 60


def test_what_was_trained_outlives_a_reset_and_the_end(tmp_path: Path):
    jobs = Jobs()
    desk = Desk(jobs)
    desk.open(xor())
    for name in ("one", "two"):
        jobs.submit(Run(None, Keep(tmp_path / name)))
        desk.until(lambda message: isinstance(message, Metrics) and message.step > 5)
        if name == "one":
            jobs.submit(Reset())
            desk.phase(READY)
    assert jobs.close()
    for name in ("one", "two"):
        (checkpoint,) = read_run(tmp_path / name).checkpoints
        assert checkpoint.step > 5


def test_the_clock_saves_too(desk: Desk, tmp_path: Path):
    desk.open(xor())
    desk.jobs.submit(Run(None, Keep(tmp_path / "one", every_s=0.05)))
    first = desk.until(saved)
    second = desk.until(saved)
    assert first.event.step < second.event.step  # type: ignore[union-attr]
    assert desk.jobs.phase == RUNNING


@pytest.mark.parametrize("later", [False, True])
def test_a_run_that_cannot_be_written_is_told_once_and_goes_on(desk: Desk, tmp_path: Path, later: bool):
    desk.open(xor())
    folder = tmp_path / "one"
    if later:
        folder.mkdir()
        (folder / "last.safetensors.d").mkdir()
    else:
        folder.write_text("a file where the folder should be")
    desk.jobs.submit(Run(None, Keep(folder, every_s=0.02)))
    if later:
        desk.until(lambda message: isinstance(message, Kept))
        (folder / "last.safetensors").unlink(missing_ok=True)
        (folder / "last.safetensors").mkdir()
    failed = desk.failed()
    assert failed.kind == "unwritten"
    reached = desk.ask(lambda session: session.step_count)
    desk.until(lambda message: isinstance(message, Metrics) and message.step > reached + 20)
    told = [message for message in desk.seen if isinstance(message, Failed)]
    assert len(told) == len({str(message.problems[0]) for message in told})
    assert desk.jobs.phase == RUNNING


@pytest.mark.parametrize("state", [RUNNING, PAUSED])
def test_a_run_moves_to_another_device_with_its_state(desk: Desk, tmp_path: Path, state: str):
    desk.open(xor(100_000))
    desk.jobs.submit(Step(30))
    desk.phase(PAUSED)
    before = desk.ask(lambda session: (session.step_count, session.states()))
    if state == RUNNING:
        desk.jobs.submit(Run(None, Keep(tmp_path / "one")))
        desk.until(lambda message: isinstance(message, Metrics) and message.step > 40)
    desk.jobs.submit(Move("cpu"))
    message = desk.until(opened)
    assert isinstance(message, Opened) and message.moved and message.step >= before[0]
    desk.phase(state)
    if state == PAUSED:
        after = desk.ask(lambda session: (session.step_count, session.states()))
        assert after[0] == before[0] and all(np.array_equal(before[1][name], after[1][name]) for name in before[1])
    else:
        desk.until(lambda m: isinstance(m, Metrics) and m.step > message.step)


def test_a_device_that_cannot_be_opened_leaves_the_run_where_it_is(desk: Desk):
    desk.open(xor())
    desk.jobs.submit(Run())
    desk.until(lambda message: isinstance(message, Metrics))
    desk.jobs.submit(Move("vulkan:977"))
    assert desk.failed().command == "Move"
    reached = desk.ask(lambda session: session.step_count)
    desk.until(lambda message: isinstance(message, Metrics) and message.step > reached)
    assert any(isinstance(message, Phase) and message.name == RUNNING for message in desk.seen)
