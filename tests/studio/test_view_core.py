"""What lies behind the window and needs none: the run's record, and what is handed to the session when."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from munet import Node
from studio import messages
from studio.commands import AddNode, Delete, Move
from studio.document import selected
from studio.preferences import Preferences
from studio.record import MAX_POINTS, Record, Series
from studio.storage import Autosave
from studio.view.core import Core

PROJECTS = Path(__file__).resolve().parents[2] / "projects"


def test_a_long_series_is_thinned_evenly():
    series = Series()
    for first in range(0, 100_000, 7):
        series.add(first, [float(step) for step in range(first + 1, first + 8)])
    assert len(series.steps) <= MAX_POINTS
    assert [float(step) for step in series.steps] == series.values
    assert set(np.diff(series.steps)) == {series.stride}


def test_smoothing_passes_over_what_is_not_finite():
    series = Series([1, 2, 3], [2.0, float("nan"), 4.0])
    assert series.smoothed(0.0) == [2.0, 2.0, 4.0]
    assert series.smoothed(0.5) == [2.0, 2.0, 3.0]


def test_a_record_keeps_each_metric():
    record = Record()
    record.add(messages.Metrics(0, 2, ("loss", "accuracy"), np.array([[3, 0.1], [2, 0.2]], np.float32), 50.0))
    record.add(messages.Metrics(2, 3, ("loss", "accuracy"), np.array([[1, 0.3]], np.float32), 0.0))
    assert record.series["loss"].values == [3.0, 2.0, 1.0] and record.series["loss"].steps == [1, 2, 3]
    assert (record.step, record.steps_per_second) == (3, 50.0)


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Core]:
    core = Core(Preferences(device="cpu"))
    core.autosave = Autosave(tmp_path)
    core.trainer.runs_root = tmp_path / "runs"
    assert core.open_file(PROJECTS / "xor.json")
    yield core
    core.close()


def until(core: Core, ready: Callable[[], bool]) -> list[messages.Message]:
    heard: list[messages.Message] = []
    hear = core.trainer._hear

    def noted(message: messages.Message) -> None:
        heard.append(message)
        hear(message)

    core.trainer._hear = noted
    end = time.monotonic() + 30
    while not ready():
        assert time.monotonic() < end, "it did not happen in time"
        core.tick(time.monotonic())
        time.sleep(0.002)
    core.trainer._hear = hear
    return heard


def opened(heard: list[messages.Message]) -> int:
    return sum(isinstance(message, messages.Opened) for message in heard)


def test_only_what_matters_is_compiled_again(core: Core):
    core.trainer.step()
    assert opened(until(core, lambda: core.trainer.record.step == 1)) == 1
    core.edit(Move(selected(["loss"]), 10.0, 0.0))
    core.set_param("adam", "lr", 0.02)
    core.trainer.step()
    assert opened(until(core, lambda: core.trainer.record.step == 2)) == 0
    assert core.document.part.nodes["adam"].params["lr"] == 0.02
    core.set_param("linear 1", "out_features", 9)
    core.trainer.step()
    assert opened(until(core, lambda: core.trainer.record.step == 3)) == 1


def test_a_broken_drawing_is_not_run(core: Core):
    core.edit(Delete(selected(["linear 2"])))
    until(core, lambda: core.findings.version == core.document.version)
    assert core.problems
    core.trainer.run()
    assert core.message_is_error and core.trainer.phase == messages.IDLE


def test_another_project_ends_the_run(core: Core):
    core.trainer.run()
    until(core, lambda: core.trainer.record.step > 0)
    core.open(replace(core.document.graph, name="other"), None)
    until(core, lambda: core.trainer.phase == messages.IDLE)
    assert core.trainer.record.step == 0 and not core.trainer.passes


def test_before_it_sleeps_the_drawing_is_autosaved(core: Core):
    core.edit(AddNode(Node("relu", "relu")))
    core.autosave_if_due(time.monotonic())
    assert not core.autosave.file.is_file()
    core.autosave_if_due(time.monotonic(), at_once=True)
    assert core.autosave.file.is_file()
