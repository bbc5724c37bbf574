"""What the Vulkan executor says when something is wrong: the cause by name, and it stays usable where it can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from munet.engine.errors import DeviceError, DeviceLost, DeviceTimeout, OutOfDeviceMemory, ShaderError
from munet.engine.execute.base import Ticket
from munet.engine.execute.vulkan import memory
from munet.engine.execute.vulkan.device import why_no_devices
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.program import BufferSpec, Program
from tests.device.programs import (
    ROWS,
    SCALARS,
    Y,
    accumulate,
    floats,
    program,
    run,
    scale,
)

_MISSING = why_no_devices()
pytestmark = [pytest.mark.device, pytest.mark.skipif(bool(_MISSING), reason=_MISSING), pytest.mark.usefixtures("environment")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": (1, 70000, 1)}, "its grid is"),
        ({"push": b"1234"}, "it has 4 push bytes, its kernel 0"),
        ({"bindings": ()}, "it binds 0 buffers, its kernel has 1"),
    ],
)
def test_passes_beyond_the_limits_are_named(executor: VulkanExecutor, change: dict[str, object], message: str):
    (p,) = scale("2.0").pass_lists[0].passes
    with pytest.raises(DeviceError, match=rf"program wrong, pass times 2\.0: {message}"):
        executor.load(program("wrong", [replace(p, **change)], [BufferSpec("y", 148, "state")]))


def test_misplaced_bindings_are_named(executor: VulkanExecutor):
    (p,) = scale("2.0").pass_lists[0].passes
    (bound,) = p.bindings
    for offset, message in ((4, "starts at byte 4"), (256, "ends at byte 404 of y, which has 304 bytes")):
        moved = replace(p, bindings=(replace(bound, placement=replace(Y, offset_bytes=offset)),))
        with pytest.raises(DeviceError, match=message):
            executor.load(program("wrong", [moved], [BufferSpec("y", 304, "state")]))


def test_feeds_that_do_not_fit_are_named(executor: VulkanExecutor):
    p = accumulate()
    executor.load(p)
    wrong = {
        "the rows of feed scalars are missing": {"rows": ROWS[:2]},
        r"the rows of feed rows are float64 \[2, 37\], expected float32 \[2, 37\]": {
            "rows": ROWS[:2].astype(float),
            "scalars": SCALARS[:2],
        },
        "has no feed other": {"rows": ROWS[:2], "scalars": SCALARS[:2], "other": ROWS[:2]},
    }
    for message, feeds in wrong.items():
        with pytest.raises(DeviceError, match=message):
            executor.submit(p, first_step=0, steps=2, feeds=feeds)
    with pytest.raises(DeviceError, match="131 steps do not fit the record ring of 130 rows"):
        run(executor, p, 0, 131)
    assert executor.counters.submits == 0


def test_a_shader_that_does_not_compile_leaves_the_executor_usable(executor: VulkanExecutor):
    executor.load(p := scale("2.0"))
    held = executor.allocated_bytes
    wrong = scale("nonsense", name="wrong")
    with pytest.raises(ShaderError, match="times nonsense:4: 'nonsense' : undeclared identifier"):
        executor.load(replace(wrong, buffers=(*wrong.buffers, BufferSpec("more", 1 << 16, "state"))))
    assert executor.allocated_bytes == held
    executor.write("y", ROWS[0])
    run(executor, p, 0, 1)
    np.testing.assert_array_equal(floats(executor, "y"), 2 * ROWS[0])


def test_out_of_memory_is_found_before_allocating(executor: VulkanExecutor):
    executor.load(scale("2.0"))
    held, size = executor.allocated_bytes, 1 << 45
    with pytest.raises(OutOfDeviceMemory) as caught:
        executor.load(program("huge", [], [BufferSpec("small", 64, "state"), BufferSpec("huge", size, "temporary")]))
    message = str(caught.value)
    assert message.startswith("program huge: its 2 new buffers")
    assert f"{size + 64:,} bytes" in message
    assert executor.info.name in message
    if not executor.info.budget_bytes:
        assert f"{executor.info.memory_bytes - held:,} bytes" in message
    assert executor.allocated_bytes == held


def test_the_drivers_budget_counts_where_it_is_known(executor: VulkanExecutor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(executor._memory, "_has_budget", True)
    monkeypatch.setattr(memory, "memory_budget", lambda *_: 1000)
    executor.load(program("fits", [], [BufferSpec("fits", 1000 - 8, "state")]))
    with pytest.raises(OutOfDeviceMemory, match=r"needs 1,008 bytes, but .* has 1,000 bytes left"):
        executor.load(program("over", [], [BufferSpec("over", 1001, "state")]))


def lose_in_submit(executor: VulkanExecutor, p: Program) -> None:
    executor.inject_loss("submit", 2)
    run(executor, p, 0, 1)
    run(executor, p, 1, 1)


def lose_in_wait(executor: VulkanExecutor, p: Program) -> None:
    executor.inject_loss("wait")
    tickets = [run(executor, p, first, 100) for first in range(0, 600, 100)]
    executor.wait(tickets[-1])


def lose_in_poll(executor: VulkanExecutor, p: Program) -> None:
    ticket = run(executor, p, 0, 100)
    executor.inject_loss("poll")
    executor.poll(ticket)


def lose_in_read(executor: VulkanExecutor, p: Program) -> None:
    executor.inject_loss("readback")
    executor.read("y")


def lose_in_records(executor: VulkanExecutor, p: Program) -> None:
    ticket = run(executor, p, 0, 1)
    executor.inject_loss("readback")
    executor.wait(ticket)


@pytest.mark.parametrize(
    ("lose", "where"),
    [
        (lose_in_submit, "vkQueueSubmit, program accumulate"),
        (lose_in_wait, "vkWaitSemaphores, program accumulate"),
        (lose_in_poll, "vkGetSemaphoreCounterValue, program accumulate"),
        (lose_in_read, "readback, read of y"),
        (lose_in_records, "readback, program accumulate"),
    ],
)
def test_a_lost_device_is_named_and_stays_lost(
    executor: VulkanExecutor, lose: Callable[[VulkanExecutor, Program], None], where: str
):
    p = accumulate()
    executor.load(p)
    with pytest.raises(DeviceLost, match="its buffers are gone") as caught:
        lose(executor, p)
    assert (caught.value.where, caught.value.result) == (where, "VK_ERROR_DEVICE_LOST")
    later: list[Callable[[], object]] = [
        lambda: run(executor, p, 0, 1),
        lambda: executor.read("y"),
        lambda: executor.write("y", ROWS[0]),
        lambda: executor.load(p),
        lambda: executor.poll(Ticket(1, p.name, 0, 1)),
        lambda: executor.wait(Ticket(1, p.name, 0, 1)),
    ]
    for call in later:
        with pytest.raises(DeviceLost, match=f"lost earlier, in {where}"):
            call()
    executor.close()
    with VulkanExecutor() as fresh:
        fresh.load(p)
        fresh.wait(run(fresh, p, 0, 1))


def test_a_wait_can_time_out(executor: VulkanExecutor):
    p = accumulate()
    executor.load(p)
    ticket = [run(executor, p, first, 100) for first in range(0, 600, 100)][-1]
    with pytest.raises(DeviceTimeout, match=r"did not finish in time \(vkWaitSemaphores, program accumulate, VK_TIMEOUT\)"):
        executor.wait(ticket, timeout_s=0.0)
    executor.wait(ticket, timeout_s=60.0)
    np.testing.assert_array_equal(floats(executor, "y"), ROWS[:600].sum(axis=0))


def test_a_closed_executor_says_so():
    executor = VulkanExecutor()
    executor.close()
    executor.close()
    with pytest.raises(DeviceError, match="the executor is closed"):
        executor.load(accumulate())
