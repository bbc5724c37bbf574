"""Steps that take long run in parts, each a vkQueueSubmit of its own, so that displays and watchdogs get their turn."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from munet.engine.errors import DeviceLost
from munet.engine.events import Progress
from munet.engine.execute.vulkan.device import why_no_devices
from munet.engine.execute.vulkan.executor import PART_MS, VulkanExecutor
from munet.engine.session import Session
from tests.device.programs import ROWS, accumulate, floats, run

_MISSING = why_no_devices()
pytestmark = [pytest.mark.device, pytest.mark.skipif(bool(_MISSING), reason=_MISSING), pytest.mark.usefixtures("environment")]

PROJECTS = Path(__file__).parents[2] / "projects"
TINY_MS = 1e-6  # any step is longer: each level becomes a part


def test_only_devices_with_a_watchdog_split(executor: VulkanExecutor):
    assert executor.part_ms == (math.inf if executor.info.is_cpu else PART_MS)
    executor.load(p := accumulate())
    executor.wait(run(executor, p, 0, 64))
    assert (executor.counters.submits, executor.counters.queue_submits) == (1, 1)


def test_each_level_is_a_part(executor: VulkanExecutor):
    executor.part_ms = TINY_MS
    executor.load(p := accumulate())
    ticket = run(executor, p, 0, 20)
    executor.wait(ticket)
    assert (executor.counters.submits, executor.counters.queue_submits) == (1, 40)
    np.testing.assert_array_equal(executor.records(ticket)[:, 0], ROWS[:20, 0].cumsum())
    np.testing.assert_array_equal(floats(executor, "y"), ROWS[:20].sum(axis=0))


def test_a_step_is_split_once_it_was_measured(executor: VulkanExecutor):
    executor.load(p := accumulate())
    executor.part_ms = 0.6 * executor._recordings[p.name].step_ms  # the guess is below twice this
    executor.wait(run(executor, p, 0, 10))
    assert executor.counters.queue_submits == 1
    if not executor.info.timestamp_period_ns:
        pytest.skip("the device has no timestamps")
    executor.part_ms = executor._recordings[p.name].step_ms / 2.5
    executor.wait(run(executor, p, 10, 10))
    assert executor.counters.queue_submits == 21
    np.testing.assert_array_equal(floats(executor, "y"), ROWS[:20].sum(axis=0))


@pytest.mark.parametrize("project", ["xor", "digits_lenet"])
def test_parts_change_no_bit(project: str):
    found = []
    for part_ms in (math.inf, TINY_MS):
        with Session.open(PROJECTS / f"{project}.json") as session:
            assert isinstance(session.executor, VulkanExecutor)
            session.executor.part_ms = part_ms
            rows = [event.rows for event in session.train(6) if isinstance(event, Progress)]
            found.append((np.concatenate(rows), session.states()))
            parts = session.executor.counters.queue_submits
            assert parts == (session.totals.submits if part_ms == math.inf else 6 * session.program.level_count)
    (rows, states), (split_rows, split_states) = found
    np.testing.assert_array_equal(rows, split_rows)
    for name, state in states.items():
        np.testing.assert_array_equal(state, split_states[name], err_msg=name)


def test_a_device_lost_between_parts(executor: VulkanExecutor):
    executor.part_ms = TINY_MS
    executor.load(p := accumulate())
    executor.inject_loss("submit", 3)
    with pytest.raises(DeviceLost):
        run(executor, p, 0, 2)
