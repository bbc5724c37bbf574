"""What an executor does, whatever it runs on.

    executor.load(program)                          allocate its buffers, build its pipelines, record its commands
    executor.write("data/digits/image", array)      before the first submit, and between runs
    ticket = executor.submit(program, first_step=0, steps=50, feeds={...})
    executor.poll(ticket)  executor.records(ticket) never block;  executor.wait(ticket) does, and is counted

Submits run in order. Several may be in flight; the caller keeps their steps together within every ring's capacity.
An executor never falls back to another device, and nothing of a graph is computed anywhere but on its device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from munet.engine.device import DeviceInfo
from munet.engine.errors import DeviceError
from munet.engine.program import Program
from munet.engine.stages import Report, silent

Array = np.ndarray[Any, Any]


@dataclass
class Counters:
    """What an executor has done so far; tests and `--json` read it."""

    submits: int = 0
    queue_submits: int = 0  # vkQueueSubmits of them: more where steps are long and run in parts
    steps: int = 0
    dispatches: int = 0
    blocking_waits: int = 0
    upload_bytes_feeds: int = 0  # scalars and batch order, while running
    upload_bytes_other: int = 0  # data, initial states, checkpoints
    readback_bytes: int = 0
    device_copy_bytes: int = 0  # from buffer to buffer, never by way of the host
    shader_compiles: int = 0  # GLSL -> SPIR-V, cache misses only
    pipelines: int = 0
    shaders_ms: float = 0.0  # GLSL -> SPIR-V and cache look-ups
    device_ms: float = 0.0  # instance, device, buffers, pipelines, recording


@dataclass(frozen=True)
class Ticket:
    """One submit: steps first_step .. first_step + steps - 1 of a program."""

    serial: int
    program: str
    first_step: int
    steps: int


@dataclass(frozen=True)
class PassTime:
    """GPU time of one pass of a program, in microseconds."""

    index: int
    name: str
    level: int
    us: float


# Pessimistic guesses for (time of a dependent pass in ms, arithmetic operations a ms).
_GPU = (0.003, 1e9)
_CPU_DRIVER = (0.05, 5e5)
_REFERENCE = (0.1, 1e6)


def guessed_ms(program: Program, device: DeviceInfo) -> float:
    """How long a step may take, before one has been measured."""
    per_pass, flops_per_ms = _REFERENCE if device.kind == "reference" else _CPU_DRIVER if device.is_cpu else _GPU
    flops = sum(p.flops for passes in program.pass_lists for p in passes)
    return program.pass_count * per_pass + flops / flops_per_ms


def check_apart(source: str, source_offset: int, target: str, target_offset: int, size_bytes: int) -> None:
    """Raises DeviceError where two ranges of one buffer overlap: no device copies those."""
    if source == target and abs(source_offset - target_offset) < size_bytes:
        raise DeviceError(f"bytes {source_offset} and {target_offset} of {source} are {size_bytes} bytes each: they overlap")


class Executor(Protocol):
    info: DeviceInfo
    counters: Counters

    def load(self, program: Program, *, poison: bool = False, report: Report = silent) -> None:
        """Make `program` ready to submit. Buffers that already exist under their names are shared and keep their contents;
        new ones are zero. `poison` fills dead byte ranges with NaN before each pass: a planning fault then shows.
        `report` hears how far it is; what it raises comes out of here, and nothing is loaded then.

        Raises ShaderError, OutOfDeviceMemory (before allocating, with the numbers), DeviceLost.
        """
        ...

    def unload(self, name: str) -> None:
        """Forget the program `name` and free the buffers that no other program names; waits for what was submitted."""
        ...

    def write(self, buffer: str, data: Array, *, offset_bytes: int = 0) -> None:
        """Copy host bytes into a buffer, after everything submitted so far. `data` may be reused at once."""
        ...

    def read(self, buffer: str, *, offset_bytes: int = 0, size_bytes: int | None = None) -> bytes:
        """Copy bytes back, after everything submitted so far; waits for it."""
        ...

    def copy(self, source: str, source_offset: int, target: str, target_offset: int, size_bytes: int) -> None:
        """Copy bytes from buffer to buffer on the device, after everything submitted so far; does not wait.

        The two ranges may not overlap. Raises DeviceError.
        """
        ...

    def submit(self, program: Program, *, first_step: int, steps: int, feeds: Mapping[str, Array]) -> Ticket:
        """Start `steps` steps without waiting. `feeds[name]` has shape [steps, *row_shape] and may be reused at once."""
        ...

    def poll(self, ticket: Ticket) -> bool:
        """True when the submit has finished; never blocks. Raises DeviceLost if the device is gone."""
        ...

    def wait(self, ticket: Ticket, timeout_s: float | None = None) -> None:
        """Block until the submit has finished. Raises DeviceTimeout, DeviceLost."""
        ...

    def records(self, ticket: Ticket) -> Array:
        """The metric rows of a finished submit, f32 [steps, columns]; each ticket may be asked once."""
        ...

    def gpu_ms(self, ticket: Ticket) -> float | None:
        """Device time of a finished submit in milliseconds, None where the device has no timestamps."""
        ...

    def profile(
        self, program: Program, *, first_step: int, feeds: Mapping[str, Array], levels: bool = False
    ) -> tuple[Ticket, list[PassTime]]:
        """Run one step with each pass timed alone, or with `levels` each level as it really runs, its passes side by side;
        blocks. Counts as a step: the states move on, and the finished ticket has its records."""
        ...

    def close(self) -> None:
        """Wait for the device and free everything; the executor is unusable afterwards."""
        ...
