"""The Vulkan executor, with hand-made programs whose results can be worked out by hand."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from munet.engine.errors import DeviceError
from munet.engine.execute.vulkan import transfers
from munet.engine.execute.vulkan.device import why_no_devices
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.program import BufferSpec
from tests.device.programs import (
    CAPACITY,
    ELEMENTS,
    ROWS,
    SCALARS,
    accumulate,
    floats,
    program,
    push_and_constants,
    run,
    scale,
    through_temporary,
)

_MISSING = why_no_devices()
pytestmark = [pytest.mark.device, pytest.mark.skipif(bool(_MISSING), reason=_MISSING), pytest.mark.usefixtures("environment")]


# Steps, rings and records


def test_many_steps_in_few_submits_and_one_wait(executor: VulkanExecutor):
    p = accumulate()
    executor.load(p)
    tickets = [run(executor, p, first, 100) for first in range(0, 600, 100)]
    executor.wait(tickets[-1])
    counters = executor.counters
    assert (counters.submits, counters.steps, counters.dispatches, counters.blocking_waits) == (6, 600, 1200, 1)
    assert counters.upload_bytes_feeds == 600 * 4 * (ELEMENTS + 1)
    assert all(executor.poll(ticket) for ticket in tickets)
    assert counters.readback_bytes == 600 * 8
    np.testing.assert_array_equal(floats(executor, "y"), ROWS[:600].sum(axis=0))
    assert np.frombuffer(executor.read("step"), np.uint32)[0] == 600


@pytest.mark.parametrize("steps", [1, 7, 64, CAPACITY])
def test_rings_wrap_around(executor: VulkanExecutor, steps: int):
    p = accumulate()
    executor.load(p)
    tickets = [run(executor, p, first, steps) for first in range(0, 5 * steps, steps)]
    executor.wait(tickets[-1])
    records = np.concatenate([executor.records(ticket) for ticket in tickets])
    np.testing.assert_array_equal(records[:, 0], ROWS[: 5 * steps, 0].cumsum())
    np.testing.assert_array_equal(records[:, 1], SCALARS[: 5 * steps].astype(np.float32))


def test_uneven_submits_waited_for_one_by_one(executor: VulkanExecutor):
    p = accumulate()
    executor.load(p)
    first = 0
    for steps in (1, 63, 2, 73, CAPACITY, 9):
        ticket = run(executor, p, first, steps)
        executor.wait(ticket)
        np.testing.assert_array_equal(executor.records(ticket)[:, 1], SCALARS[first : first + steps].astype(np.float32))
        first += steps
    np.testing.assert_array_equal(floats(executor, "y"), ROWS[:first].sum(axis=0))


def test_feeds_may_be_reused_at_once(executor: VulkanExecutor):
    p = accumulate()
    executor.load(p)
    rows, scalars = ROWS[:50].copy(), SCALARS[:50].copy()
    executor.submit(p, first_step=0, steps=50, feeds={"rows": rows, "scalars": scalars})
    rows[:] = 1e9
    np.testing.assert_array_equal(floats(executor, "y"), ROWS[:50].sum(axis=0))


def test_records_are_handed_out_once(executor: VulkanExecutor):
    p = accumulate()
    executor.load(p)
    ticket = run(executor, p, 0, 3)
    executor.wait(ticket)
    assert executor.records(ticket).shape == (3, 2)
    with pytest.raises(DeviceError, match="handed out before"):
        executor.records(ticket)


def test_gpu_time_and_profile(executor: VulkanExecutor):
    if not executor.info.timestamp_period_ns:
        pytest.skip(f"{executor.info.name} has no timestamps")
    p = accumulate()
    executor.load(p)
    ticket = run(executor, p, 0, 5)
    executor.wait(ticket)
    assert (executor.gpu_ms(ticket) or 0) > 0
    _, times = executor.profile(p, first_step=5, feeds={"rows": ROWS[5:6], "scalars": SCALARS[5:6]})
    assert [(time.index, time.name, time.level) for time in times] == [(0, "add row", 0), (1, "record", 1)]
    assert all(time.us > 0 for time in times)
    np.testing.assert_array_equal(floats(executor, "y"), ROWS[:6].sum(axis=0), "the profiled step is a step")


def test_no_timestamps_no_times(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MUNET_DISABLE", "timestamps")
    with VulkanExecutor() as executor:
        p = accumulate()
        executor.load(p)
        ticket = run(executor, p, 0, 2)
        executor.wait(ticket)
        assert executor.gpu_ms(ticket) is None
        with pytest.raises(DeviceError, match="no timestamps"):
            executor.profile(p, first_step=2, feeds={"rows": ROWS[2:3], "scalars": SCALARS[2:3]})


# Buffers and programs


def test_programs_share_buffers_by_name(executor: VulkanExecutor):
    train, double = accumulate(), scale("2.0")
    executor.load(train)
    run(executor, train, 0, 3)
    executor.load(double)  # finds y as it is
    run(executor, double, 0, 2)
    run(executor, train, 3, 1)
    np.testing.assert_array_equal(floats(executor, "y"), 4 * ROWS[:3].sum(axis=0) + ROWS[3])
    executor.unload("scale")
    np.testing.assert_array_equal(floats(executor, "y"), 4 * ROWS[:3].sum(axis=0) + ROWS[3])


def test_pipelines_are_shared_and_constants_and_push_arrive(executor: VulkanExecutor):
    executor.load(push_and_constants(5, 100))
    before = executor.counters.pipelines
    again, other = push_and_constants(6, 100), push_and_constants(6, 200)
    executor.load(again)
    assert executor.counters.pipelines == before
    executor.load(other)
    assert executor.counters.pipelines == before + 1
    run(executor, again, 0, 1)
    assert set(floats(executor, "y")) == {106.0}
    run(executor, other, 0, 1)
    assert set(floats(executor, "y")) == {206.0}


def test_new_buffers_are_zero_and_unload_frees(executor: VulkanExecutor):
    executor.load(scale("2.0"))
    executor.write("y", ROWS[0])
    held = executor.allocated_bytes
    executor.load(program("other", [], [BufferSpec("other", 1 << 20, "state")]))
    assert executor.allocated_bytes >= held + (1 << 20)
    executor.unload("other")
    executor.unload("scale")
    executor.load(scale("2.0"))
    assert executor.allocated_bytes <= held
    assert not floats(executor, "y").any()


def test_a_program_loaded_anew_replaces_its_earlier_version(executor: VulkanExecutor):
    old, new = scale("2.0"), scale("3.0")
    executor.load(old)
    executor.write("y", ROWS[0])
    run(executor, old, 0, 1)
    executor.load(new)
    run(executor, new, 0, 1)
    np.testing.assert_array_equal(floats(executor, "y"), 6 * ROWS[0])
    with pytest.raises(DeviceError, match="program scale is not loaded"):
        run(executor, old, 0, 1)


def test_a_shared_buffer_cannot_change_its_size(executor: VulkanExecutor):
    executor.load(scale("2.0"))
    with pytest.raises(DeviceError, match="buffer y has 8 bytes, but program scale shares one of 148 bytes"):
        executor.load(program("other", [], [BufferSpec("y", 8, "state")]))


def test_empty_values_and_odd_ranges(executor: VulkanExecutor):
    executor.load(program("sizes", [], [BufferSpec("empty", 0, "temporary"), BufferSpec("odd", 7, "data")]))
    executor.write("odd", np.array([1, 2, 3, 4, 5, 6, 7], np.uint8))
    executor.write("odd", np.array([9, 8], np.uint8), offset_bytes=3)
    assert executor.read("odd") == bytes([1, 2, 3, 9, 8, 6, 7])
    assert executor.read("odd", offset_bytes=2, size_bytes=3) == bytes([3, 9, 8])
    assert executor.read("empty") == b""
    executor.write("empty", np.empty(0, np.float32))
    with pytest.raises(DeviceError, match="bytes 5 to 8 lie outside buffer odd of 7 bytes"):
        executor.read("odd", offset_bytes=5, size_bytes=3)
    with pytest.raises(DeviceError, match="there is no buffer none; the loaded programs have empty, odd"):
        executor.read("none")


def test_big_transfers_go_in_chunks(executor: VulkanExecutor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transfers, "CHUNK_BYTES", 1 << 18)
    data = np.random.default_rng(3).integers(0, 256, (1 << 21) + 5, np.uint8)
    executor.load(program("data", [], [BufferSpec("data", data.size, "data")]))
    executor.write("data", data)
    assert executor.read("data") == data.tobytes()
    staging = executor.allocated_bytes - data.size
    assert staging < 6 << 18, f"{staging} bytes of staging for chunks of {1 << 18}"
    assert executor.counters.upload_bytes_other == data.size


def test_writes_come_after_what_was_submitted(executor: VulkanExecutor):
    p = scale("2.0")
    executor.load(p)
    for value in range(1, 20):
        run(executor, p, 0, 3)
        executor.write("y", np.full(ELEMENTS, value, np.float32))
    run(executor, p, 0, 1)
    assert set(floats(executor, "y")) == {38.0}


@pytest.mark.parametrize(("planned_well", "poison", "expected"), [(True, True, 3.0), (False, False, 3.0), (False, True, np.nan)])
def test_poison_shows_planning_faults(executor: VulkanExecutor, planned_well: bool, poison: bool, expected: float):
    p = through_temporary(planned_well)
    executor.load(p, poison=poison)
    run(executor, p, 0, 3)
    np.testing.assert_array_equal(floats(executor, "y"), np.full(ELEMENTS, expected, np.float32))


def test_structs_survive_garbage_collection(executor: VulkanExecutor):
    for number in range(300):
        executor.load(push_and_constants(number, number))
        gc.collect(0 if number % 10 else 2)
    assert executor.counters.pipelines == 300
    for number in (0, 150, 299):
        executor.load(p := push_and_constants(number, number))
        run(executor, p, 0, 1)
        assert set(floats(executor, "y")) == {2.0 * number}
