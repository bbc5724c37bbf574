"""ReferenceExecutor: runs a pass list with NumPy inside the planned arenas, byte for byte where the plan puts things.

A pass computes what its op means; GLSL is not looked at. Because values live in the same arenas as on a GPU, a fault of
planning shows here without one. It is taken only where the device "cpu" is asked for, never in place of another.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from types import TracebackType

import numpy as np

from munet.engine.device import REFERENCE
from munet.engine.errors import DeviceError, OutOfDeviceMemory
from munet.engine.execute.base import Array, Counters, PassTime, Ticket, check_apart
from munet.engine.execute.storage import from_stored, to_stored
from munet.engine.ir.evaluate import run_op
from munet.engine.ir.module import Op, Value
from munet.engine.passlist import ComputePass, PassList, Placement
from munet.engine.program import BufferSpec, Feed, Program
from munet.engine.stages import Report, silent

NAN_WORD = 0x7FC00000
_RESULTS_KEPT = 4096  # finished submits whose records nobody has asked for


@dataclass(eq=False)
class _Arena:
    """One buffer: its bytes, rounded up so that the smallest binding fits, and the programs that name it."""

    spec: BufferSpec
    content: Array
    programs: set[str]


@dataclass(eq=False)
class _Loaded:
    program: Program
    passes: tuple[ComputePass, ...]
    poison: bool


class ReferenceExecutor:
    """Implements `Executor` with NumPy. A submit runs at once; its ticket is finished when `submit` returns."""

    def __init__(self) -> None:
        self.info = REFERENCE
        self.counters = Counters()
        self._arenas: dict[str, _Arena] = {}
        self._loaded: dict[str, _Loaded] = {}
        self._results: dict[int, tuple[Array | None, float]] = {}
        self._closed = False

    def load(self, program: Program, *, poison: bool = False, report: Report = silent) -> None:
        """See `Executor.load`. A program of the same name is replaced; temporaries it leaves behind are freed."""
        self._ensure_open()
        report("loading", 0.0)
        started = time.perf_counter()
        passes = _passes(program)
        made = {spec.name: self._allocated(program, spec) for spec in program.buffers if self._is_missing(program, spec)}
        for arena in self._arenas.values():
            arena.programs.discard(program.name)
        self._arenas |= made
        for spec in program.buffers:
            self._arenas[spec.name].programs.add(program.name)
        self._free_orphans(("temporary",))
        self._loaded[program.name] = _Loaded(program, passes, poison)
        self.counters.device_ms += 1000 * (time.perf_counter() - started)

    def unload(self, name: str) -> None:
        """Forgets a program, and frees the buffers that no other program names."""
        self._ensure_open()
        if self._loaded.pop(name, None) is None:
            raise DeviceError(f"program {name} is not loaded")
        touched = [key for key, arena in self._arenas.items() if name in arena.programs]
        for key in touched:
            self._arenas[key].programs.discard(name)
            if not self._arenas[key].programs:
                del self._arenas[key]

    def write(self, buffer: str, data: Array, *, offset_bytes: int = 0) -> None:
        content = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
        self._range(buffer, offset_bytes, content.size)[:] = content
        self.counters.upload_bytes_other += content.size

    def read(self, buffer: str, *, offset_bytes: int = 0, size_bytes: int | None = None) -> bytes:
        size = self._arena(buffer).spec.size_bytes - offset_bytes if size_bytes is None else size_bytes
        content = self._range(buffer, offset_bytes, size).tobytes()
        self.counters.readback_bytes += size
        return content

    def copy(self, source: str, source_offset: int, target: str, target_offset: int, size_bytes: int) -> None:
        check_apart(source, source_offset, target, target_offset, size_bytes)
        content = self._range(source, source_offset, size_bytes)
        self._range(target, target_offset, size_bytes)[:] = content
        self.counters.device_copy_bytes += size_bytes

    def submit(self, program: Program, *, first_step: int, steps: int, feeds: Mapping[str, Array]) -> Ticket:
        loaded = self._program(program)
        started = time.perf_counter()
        self.fill_rings(program, first_step, steps, feeds)
        for _ in range(steps):
            for index in range(len(loaded.passes)):
                self._run(loaded, index)
        return self._finished(program, first_step, steps, 1000 * (time.perf_counter() - started))

    def _finished(self, program: Program, first_step: int, steps: int, elapsed_ms: float) -> Ticket:
        """Keeps the records until they are asked for."""
        rows = self._records(program, first_step, steps)
        counters = self.counters
        counters.submits += 1
        counters.steps += steps
        counters.dispatches += steps * program.pass_count
        counters.readback_bytes += rows.nbytes
        self._results[counters.submits] = (rows, elapsed_ms)
        while len(self._results) > _RESULTS_KEPT:
            del self._results[next(iter(self._results))]
        return Ticket(counters.submits, program.name, first_step, steps)

    def run_pass(self, program: Program, index: int) -> None:
        """One pass alone, over what the buffers hold now: for tools that look at one pass at a time."""
        self._run(self._program(program), index)

    def poll(self, ticket: Ticket) -> bool:
        self._ensure_open()
        return True

    def wait(self, ticket: Ticket, timeout_s: float | None = None) -> None:
        self._ensure_open()

    def records(self, ticket: Ticket) -> Array:
        rows, elapsed_ms = self._result(ticket)
        if rows is None:
            raise DeviceError(f"the records of submit {ticket.serial} of program {ticket.program} were handed out before")
        self._results[ticket.serial] = (None, elapsed_ms)
        return rows

    def gpu_ms(self, ticket: Ticket) -> float | None:
        return self._result(ticket)[1]

    def profile(
        self, program: Program, *, first_step: int, feeds: Mapping[str, Array], levels: bool = False
    ) -> tuple[Ticket, list[PassTime]]:
        loaded = self._program(program)
        self.fill_rings(program, first_step, 1, feeds)
        times: list[PassTime] = []
        for index, compute_pass in enumerate(loaded.passes):
            started = time.perf_counter()
            self._run(loaded, index)
            times.append(PassTime(index, compute_pass.name, compute_pass.level, 1e6 * (time.perf_counter() - started)))
        ticket = self._finished(program, first_step, 1, sum(t.us for t in times) / 1000)
        if levels:
            groups = groupby(times, key=lambda time: time.level)
            times = [PassTime(level, f"level {level}", level, sum(t.us for t in group)) for level, group in groups]
        return ticket, times

    def close(self) -> None:
        self._closed = True
        self._arenas.clear()
        self._loaded.clear()
        self._results.clear()

    def __enter__(self) -> ReferenceExecutor:
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # -- running -------------------------------------------------------------------------------------------------------

    def _run(self, loaded: _Loaded, index: int) -> None:
        """The ops of a pass one by one; backwards where faults are looked for, since their order must not matter."""
        program, ops = loaded.program, loaded.passes[index].ops
        if loaded.poison and index < len(program.dead_ranges):
            for dead in program.dead_ranges[index]:
                start, end = -(-dead.offset_bytes // 4) * 4, dead.end_bytes // 4 * 4
                self._arenas[dead.buffer].content[start : max(start, end)].view(np.uint32)[:] = NAN_WORD
        for op in (*(reversed(ops) if loaded.poison else ops), *loaded.passes[index].riders):
            self._run_op(program, op)

    def _run_op(self, program: Program, op: Op) -> None:
        results = run_op(op, [self._value(program, value) for value in op.inputs])
        # A result may be a view of an input, whose bytes another result is about to take: detach all before writing any.
        stored = [self._detached(to_stored(array, v.dtype), program, v) for v, array in zip(op.outputs, results, strict=True)]
        for value, array in zip(op.outputs, stored, strict=True):
            self._bytes(program.placements[value])[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)

    def _value(self, program: Program, value: Value) -> Array:
        return from_stored(self._bytes(program.placements[value]), value.dtype, value.shape)

    def _detached(self, array: Array, program: Program, value: Value) -> Array:
        if array.shape != value.shape:
            raise DeviceError(f"program {program.name}: an op gave {list(array.shape)} for {value}")
        inside = any(np.may_share_memory(array, arena.content) for arena in self._arenas.values())
        return array.copy() if inside else array

    def fill_rings(self, program: Program, first_step: int, steps: int, feeds: Mapping[str, Array]) -> None:
        if steps < 1:
            raise DeviceError(f"program {program.name}: a submit runs at least one step, not {steps}")
        unknown = sorted(set(feeds) - {feed.name for feed in program.feeds})
        if unknown:
            raise DeviceError(f"program {program.name} has no feed {unknown[0]}")
        for feed in program.feeds:
            if feed.name not in feeds:
                raise DeviceError(f"program {program.name}: the rows of feed {feed.name} are missing")
            self._fill_ring(program, feed, first_step, steps, feeds[feed.name])

    def _fill_ring(self, program: Program, feed: Feed, first_step: int, steps: int, given: Array) -> None:
        where = f"program {program.name}: the rows of feed {feed.name}"
        if steps > feed.capacity:
            raise DeviceError(f"{where}: {steps} steps do not fit a ring of {feed.capacity} rows")
        expected = (steps, *feed.row_shape)
        if given.shape != expected or given.dtype != feed.dtype.host:
            found = f"{given.dtype} {list(given.shape)}, expected {feed.dtype.host} {list(expected)}"
            raise DeviceError(f"{where} are {found}")
        rows = np.ascontiguousarray(to_stored(given, feed.dtype)).reshape(steps, -1).view(np.uint8)
        ring = self._bytes(feed.placement)[: feed.capacity * feed.row_bytes].reshape(feed.capacity, feed.row_bytes)
        ring[np.arange(first_step, first_step + steps) % feed.capacity] = rows
        self.counters.upload_bytes_feeds += rows.nbytes

    def _records(self, program: Program, first_step: int, steps: int) -> Array:
        records = program.records
        if records is None:
            return np.zeros((steps, 0), np.float32)
        if steps > records.capacity:
            raise DeviceError(f"program {program.name}: {steps} steps do not fit the record ring of {records.capacity} rows")
        ring = self._bytes(records.placement).view(np.float32).reshape(records.capacity, len(records.names))
        return ring[np.arange(first_step, first_step + steps) % records.capacity]

    # -- buffers -------------------------------------------------------------------------------------------------------

    def _is_missing(self, program: Program, spec: BufferSpec) -> bool:
        arena = self._arenas.get(spec.name)
        if arena is None:
            return True
        others = sorted(arena.programs - {program.name})
        if arena.spec.size_bytes != spec.size_bytes and others:
            raise DeviceError(
                f"program {program.name}: its buffer {spec.name} has {spec.size_bytes} bytes, "
                f"but program {others[0]} shares one of {arena.spec.size_bytes} bytes under that name"
            )
        return arena.spec.size_bytes != spec.size_bytes

    def _allocated(self, program: Program, spec: BufferSpec) -> _Arena:
        try:
            return _Arena(spec, np.zeros(max(16, -(-spec.size_bytes // 16) * 16), np.uint8), set())
        except MemoryError:
            text = f"program {program.name}: buffer {spec.name} of {spec.size_bytes:,} bytes does not fit the memory"
            raise OutOfDeviceMemory(text) from None

    def _free_orphans(self, roles: tuple[str, ...]) -> None:
        for name in [n for n, arena in self._arenas.items() if not arena.programs and arena.spec.role in roles]:
            del self._arenas[name]

    def _arena(self, name: str) -> _Arena:
        self._ensure_open()
        if name not in self._arenas:
            raise DeviceError(f"there is no buffer {name}; the loaded programs have {', '.join(sorted(self._arenas)) or 'none'}")
        return self._arenas[name]

    def _range(self, name: str, offset_bytes: int, size_bytes: int) -> Array:
        arena = self._arena(name)
        end = offset_bytes + size_bytes
        if offset_bytes < 0 or size_bytes < 0 or end > arena.spec.size_bytes:
            raise DeviceError(f"bytes {offset_bytes} to {end} lie outside buffer {name} of {arena.spec.size_bytes} bytes")
        return arena.content[offset_bytes:end]

    def _bytes(self, placement: Placement) -> Array:
        return self._arenas[placement.buffer].content[placement.offset_bytes : placement.end_bytes]

    def _program(self, program: Program) -> _Loaded:
        self._ensure_open()
        loaded = self._loaded.get(program.name)
        if loaded is None or loaded.program is not program:
            raise DeviceError(f"program {program.name} is not loaded")
        return loaded

    def _result(self, ticket: Ticket) -> tuple[Array | None, float]:
        self._ensure_open()
        if ticket.serial not in self._results:
            raise DeviceError(f"submit {ticket.serial} of program {ticket.program} is no longer kept")
        return self._results[ticket.serial]

    def _ensure_open(self) -> None:
        if self._closed:
            raise DeviceError("the executor is closed")


def _passes(program: Program) -> tuple[ComputePass, ...]:
    passes: list[ComputePass] = []
    for number, stage in enumerate(program.stages):
        if not isinstance(stage, PassList):
            text = f"stage {number}, {stage.name}, runs on the host; that is not supported yet"
            raise DeviceError(f"program {program.name}: {text}")
        passes += stage.passes
    return tuple(passes)
