"""VulkanExecutor: loads programs, submits many steps at a time, and never waits unless told to.

A submit is one vkQueueSubmit of [copies of the feeds, blocks of steps, copy of the records], or several where a step is
long. What the host reads was put into mapped memory by the submit itself; polling looks at a semaphore. An executor belongs to
one thread at a time.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from munet.engine.errors import DeviceError
from munet.engine.execute.base import Array, Counters, PassTime, Ticket, check_apart
from munet.engine.execute.vulkan.buffers import NamedBuffers
from munet.engine.execute.vulkan.commands import Commands, Region
from munet.engine.execute.vulkan.device import Device, open_device
from munet.engine.execute.vulkan.memory import Buffer, Memory, rounded
from munet.engine.execute.vulkan.pipeline import Pipelines
from munet.engine.execute.vulkan.queue import Queue
from munet.engine.execute.vulkan.recording import Recording, check_passes, numbered_passes
from munet.engine.execute.vulkan.transfers import Slot, Transfers, host_bytes
from munet.engine.program import Feed, Program
from munet.engine.stages import Report, silent, within

PART_MS = 50.0  # a step of more than twice this runs as several vkQueueSubmits of about so much each
_RESULTS_KEPT = 4096  # finished submits whose records nobody has asked for


@dataclass(eq=False)
class _Flight:
    """A submit under way."""

    ticket: Ticket
    slot: Slot
    recording: Recording
    columns: int


@dataclass(eq=False)
class _Result:
    """A finished submit. `rows` is None once they have been handed out."""

    rows: Array | None
    gpu_ms: float | None


class VulkanExecutor:
    """Implements `Executor` on device `index` of `list_devices()`, or on the best one.

    Raises DeviceUnavailable when there is no loader, driver or device to use.
    """

    def __init__(self, index: int | None = None):
        started = time.perf_counter()
        self.counters = Counters()
        self._closed = False
        self._device: Device = open_device(index)
        self.info = self._device.info
        # A display and a driver's watchdog want their turn; a CPU driver has neither.
        self.part_ms = math.inf if self.info.is_cpu else PART_MS
        try:
            self._memory = Memory(self._device)
            self._commands = Commands(self._device)
            self._queue = Queue(self._device)
            self._pipelines = Pipelines(self._device, self.counters)
            self._transfers = Transfers(self._device, self._memory, self._commands, self._queue, self.counters)
        except DeviceError:
            self._device.close()
            raise
        self._buffers = NamedBuffers(self._memory)
        self._recordings: dict[str, Recording] = {}
        self._flights: deque[_Flight] = deque()
        self._results: dict[int, _Result] = {}
        self.counters.device_ms += 1000 * (time.perf_counter() - started)

    @property
    def validation_messages(self) -> list[str]:
        """What the validation layer has said (MUNET_VALIDATION=1); empty is good."""
        return self._device.instance.messages

    @property
    def allocated_bytes(self) -> int:
        """Device memory held now, staging included."""
        return self._memory.allocated_bytes

    def load(self, program: Program, *, poison: bool = False, report: Report = silent) -> None:
        """See `Executor.load`. A program of the same name is replaced; temporaries it leaves behind are freed."""
        self._ensure_open()
        started, shaders_ms, pipelines = time.perf_counter(), self.counters.shaders_ms, self.counters.pipelines
        check_passes(program, self.info)
        if program.name in self._recordings:
            self._wait_all(_where(program))
        made = self._buffers.allocate_missing(program)
        try:
            self._pipelines.build((p.kernel for _, p in numbered_passes(program)), within(report, 0.0, 0.9))
            report("recording", 0.9)
            recording = self._record(program, made, poison)
        except BaseException:  # the hook may raise anything
            self._buffers.discard(made)
            raise
        if program.name in self._recordings:
            self._recordings[program.name].close()
        self._recordings[program.name] = recording
        self._buffers.adopt(program, made)
        if self.counters.pipelines > pipelines:
            self._pipelines.save()
        elapsed_ms = 1000 * (time.perf_counter() - started)
        self.counters.device_ms += max(0.0, elapsed_ms - (self.counters.shaders_ms - shaders_ms))

    def unload(self, name: str) -> None:
        """Forgets a program, and frees the buffers that no other program names. Waits for all that was submitted."""
        self._ensure_open()
        if name not in self._recordings:
            raise DeviceError(f"program {name} is not loaded")
        self._wait_all(f"program {name}")
        self._recordings.pop(name).close()
        self._buffers.release(name)

    def write(self, buffer: str, data: Array, *, offset_bytes: int = 0) -> None:
        self._ensure_open()
        content = host_bytes(data)
        target = self._buffers.range(buffer, offset_bytes, content.size)
        self._transfers.write(target, offset_bytes, content, f"write to {buffer}")

    def read(self, buffer: str, *, offset_bytes: int = 0, size_bytes: int | None = None) -> bytes:
        self._ensure_open()
        if size_bytes is None:
            size_bytes = self._buffers[buffer].spec.size_bytes - offset_bytes
        source = self._buffers.range(buffer, offset_bytes, size_bytes)
        return self._transfers.read(source, offset_bytes, size_bytes, f"read of {buffer}")

    def copy(self, source: str, source_offset: int, target: str, target_offset: int, size_bytes: int) -> None:
        self._ensure_open()
        check_apart(source, source_offset, target, target_offset, size_bytes)
        origin = self._buffers.range(source, source_offset, size_bytes)
        destination = self._buffers.range(target, target_offset, size_bytes)
        self._transfers.move(origin, destination, (source_offset, target_offset, size_bytes), f"copy from {source} to {target}")

    def submit(self, program: Program, *, first_step: int, steps: int, feeds: Mapping[str, Array]) -> Ticket:
        self._ensure_open()
        recording = self._recording(program)
        self._harvest(_where(program))
        rows = _checked_feeds(program, steps, feeds)
        slot = self._start(program, first_step, rows, steps)
        return self._started(program, slot, recording, recording.parts(steps, self.part_ms), first_step, steps)

    def poll(self, ticket: Ticket) -> bool:
        self._ensure_open()
        return self._harvest(_where(ticket)) >= ticket.serial

    def wait(self, ticket: Ticket, timeout_s: float | None = None) -> None:
        self._ensure_open()
        self.counters.blocking_waits += self._queue.wait(ticket.serial, _where(ticket), timeout_s)
        self._harvest(_where(ticket))

    def records(self, ticket: Ticket) -> Array:
        result = self._result(ticket)
        if result.rows is None:
            raise DeviceError(f"the records of submit {ticket.serial} of program {ticket.program} were handed out before")
        rows, result.rows = result.rows, None
        return rows

    def gpu_ms(self, ticket: Ticket) -> float | None:
        return self._result(ticket).gpu_ms

    def profile(
        self, program: Program, *, first_step: int, feeds: Mapping[str, Array], levels: bool = False
    ) -> tuple[Ticket, list[PassTime]]:
        self._ensure_open()
        recording = self._recording(program)
        self._harvest(_where(program))
        if not self.info.timestamp_period_ns:
            raise DeviceError(f"{self.info.name} has no timestamps, so its passes cannot be timed")
        commands = recording.profile(levels)
        slot = self._start(program, first_step, _checked_feeds(program, 1, feeds), 1)
        ticket = self._started(program, slot, recording, [[commands]], first_step, 1)
        self.wait(ticket)
        return ticket, recording.pass_times(levels)

    def inject_loss(self, place: str, nth: int = 1) -> None:
        """For tests: the `nth` coming "submit", "wait", "poll" or "readback" ends as if the driver had lost the device."""
        self._device.functions.inject_loss(place, nth)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._queue.close()
        for recording in self._recordings.values():
            recording.close()
        self._transfers.close()
        self._commands.close()
        self._memory.close()
        self._pipelines.close()
        self._device.close()

    def __enter__(self) -> VulkanExecutor:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _start(self, program: Program, first_step: int, rows: list[tuple[Feed, Any]], steps: int) -> Slot:
        """Takes a slot and records its head: the feeds' rows go from staging into their rings."""
        size = sum(rounded(content.size) for _, content in rows)
        records_bytes = steps * program.records.row_bytes if program.records else 0
        slot = self._transfers.acquire(size, records_bytes)
        commands, offset = self._commands, 0
        commands.begin(slot.head)
        slot.times.reset(slot.head)
        slot.times.write(slot.head, 0)
        for feed, content in rows:
            slot.upload_bytes[offset : offset + content.size] = content
            ring = self._buffers[feed.placement.buffer].buffer
            spans = _ring(first_step, steps, feed.capacity, feed.row_bytes)
            regions: list[Region] = [(offset + at, feed.placement.offset_bytes + row, count) for at, row, count in spans]
            if slot.upload is not None:
                commands.copy(slot.head, slot.upload.handle, ring.handle, regions)
            self.counters.upload_bytes_feeds += content.size
            offset += rounded(content.size)
        commands.barrier(slot.head)
        commands.end(slot.head)
        return slot

    def _started(
        self, program: Program, slot: Slot, recording: Recording, parts: list[list[Any]], first_step: int, steps: int
    ) -> Ticket:
        """Submits the parts; what they bring is taken when they have finished."""
        serial = self._finish(program, slot, parts, first_step, steps)
        ticket = Ticket(serial, program.name, first_step, steps)
        self._flights.append(_Flight(ticket, slot, recording, len(program.records.names) if program.records else 0))
        self.counters.submits += 1
        self.counters.steps += steps
        self.counters.dispatches += steps * program.pass_count
        return ticket

    def _finish(self, program: Program, slot: Slot, parts: list[list[Any]], first_step: int, steps: int) -> int:
        """Records the slot's tail, which copies the records out, and submits all of it, each part by itself."""
        commands, records = self._commands, program.records
        commands.begin(slot.tail)
        if records is not None and slot.readback is not None:
            ring = self._buffers[records.placement.buffer].buffer
            spans = _ring(first_step, steps, records.capacity, records.row_bytes)
            regions: list[Region] = [(records.placement.offset_bytes + row, at, count) for at, row, count in spans]
            commands.copy(slot.tail, ring.handle, slot.readback.handle, regions)
        commands.barrier(slot.tail, to_host=True)
        slot.times.write(slot.tail, 1)
        commands.end(slot.tail)
        parts = [list(part) for part in parts]
        parts[0].insert(0, slot.head)
        parts[-1].append(slot.tail)
        for part in parts[:-1]:
            self._queue.submit_part(part, _where(program))
        slot.serial = self._queue.submit(parts[-1], _where(program))
        self.counters.queue_submits += len(parts)
        return slot.serial

    def _harvest(self, where: str) -> int:
        """Takes the records and times of what has finished, so that its staging can serve again; never blocks."""
        finished = self._queue.finished(where)
        while self._flights and self._flights[0].ticket.serial <= finished:
            flight = self._flights.popleft()
            self._device.functions.reach("readback", f"readback, {where}")
            count = 4 * flight.ticket.steps * flight.columns
            rows = flight.slot.readback_bytes[:count].view(np.float32).reshape(flight.ticket.steps, flight.columns).copy()
            intervals = flight.slot.times.intervals_us()
            self._results[flight.ticket.serial] = _Result(rows, None if intervals is None else intervals[0] / 1e3)
            if intervals is not None:
                flight.recording.step_ms = intervals[0] / 1e3 / flight.ticket.steps
            self._transfers.release(flight.slot)
            self.counters.readback_bytes += count
        while len(self._results) > _RESULTS_KEPT:
            del self._results[next(iter(self._results))]
        return finished

    def _result(self, ticket: Ticket) -> _Result:
        self._ensure_open()
        if ticket.serial not in self._results:
            self._harvest(_where(ticket))
        if ticket.serial not in self._results:
            state = "has not finished; poll or wait first" if ticket.serial > self._queue.finished() else "is no longer kept"
            raise DeviceError(f"submit {ticket.serial} of program {ticket.program} {state}")
        return self._results[ticket.serial]

    def _wait_all(self, where: str) -> None:
        """Nothing submitted still runs afterwards, so what it used may be freed."""
        self.counters.blocking_waits += self._queue.wait(self._queue.submitted, where)
        self._harvest(where)

    def _record(self, program: Program, made: Mapping[str, Buffer], poison: bool) -> Recording:
        buffers = self._buffers.seen_by(program, made)
        recording = Recording(self._device, self._commands, self._pipelines, program, buffers, poison)
        try:
            self._transfers.zero(list(made.values()), _where(program))
        except DeviceError:
            recording.close()
            raise
        return recording

    def _recording(self, program: Program) -> Recording:
        recording = self._recordings.get(program.name)
        if recording is None or recording.program is not program:
            raise DeviceError(f"program {program.name} is not loaded")
        return recording

    def _ensure_open(self) -> None:
        if self._closed:
            raise DeviceError("the executor is closed")
        self._device.functions.ensure_alive()


def _checked_feeds(program: Program, steps: int, feeds: Mapping[str, Array]) -> list[tuple[Feed, Any]]:
    """Each feed with its rows as bytes. Raises DeviceError if one is missing or does not fit its ring."""
    if steps < 1:
        raise DeviceError(f"{_where(program)}: a submit runs at least one step, not {steps}")
    if program.records is not None and steps > program.records.capacity:
        raise DeviceError(f"{_where(program)}: {steps} steps do not fit the record ring of {program.records.capacity} rows")
    unknown = sorted(set(feeds) - {feed.name for feed in program.feeds})
    if unknown:
        raise DeviceError(f"{_where(program)} has no feed {unknown[0]}")
    rows = []
    for feed in program.feeds:
        if feed.name not in feeds:
            raise DeviceError(f"{_where(program)}: the rows of feed {feed.name} are missing")
        if steps > feed.capacity:
            raise DeviceError(f"{_where(program)}: {steps} steps do not fit feed {feed.name}, a ring of {feed.capacity} rows")
        given, expected = feeds[feed.name], (steps, *feed.row_shape)
        if given.shape != expected or given.dtype != feed.dtype.host:
            found = f"{given.dtype} {list(given.shape)}, expected {feed.dtype.host} {list(expected)}"
            raise DeviceError(f"{_where(program)}: the rows of feed {feed.name} are {found}")
        if feed.dtype.name == "bool":
            given = given.astype(np.uint32)  # as the dtype table stores it
        rows.append((feed, host_bytes(given)))
    return rows


def _ring(first_step: int, steps: int, capacity: int, row_bytes: int) -> list[tuple[int, int, int]]:
    """Where consecutive steps' rows lie in a ring: at most two spans of (offset among the rows, offset in the ring, bytes)."""
    start = first_step % capacity
    before = min(steps, capacity - start)
    return [(0, start * row_bytes, before * row_bytes), (before * row_bytes, 0, (steps - before) * row_bytes)]


def _where(source: Program | Ticket) -> str:
    return f"program {source.name if isinstance(source, Program) else source.program}"
