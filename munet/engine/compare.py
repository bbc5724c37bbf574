"""Runs a program's passes on two executors and names the first ones that disagree.

Each pass gets the same bytes on both sides: what the reference holds is written into the device's buffers, the pass runs
alone on both, and what it wrote is compared. So the fault is in the pass that is named, not somewhere before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from munet.engine.execute.base import Array, Executor
from munet.engine.execute.cpu import ReferenceExecutor
from munet.engine.execute.storage import from_stored
from munet.engine.ir.module import Value
from munet.engine.passlist import ComputePass, PassList, Placement
from munet.engine.program import Program
from munet.engine.session import Session

RTOL, ATOL = 1e-4, 1e-6  # of the largest number in the value: sums in another order differ by about their length in ulps


@dataclass(frozen=True)
class Difference:
    """A value that a pass wrote differently. `error` and `allowed` are absolute; `place` is where it is largest."""

    step: int
    index: int
    compute_pass: ComputePass
    value: Value
    error: float
    allowed: float
    place: tuple[int, ...]
    found: float
    expected: float

    @property
    def node(self) -> str:
        """The node of the drawing that the value belongs to; a pass may hold ops of several."""
        op = next(op for op in self.compute_pass.ops if self.value in op.outputs)
        return next((origin[0] for origin in (op.origin, *self.compute_pass.origins) if origin), "")

    def __str__(self) -> str:
        node = f'node "{self.node}", ' if self.node else ""
        return (
            f"step {self.step + 1}, {node}pass {self.index} {self.compute_pass.name}: {self.value} differs by {self.error:.3g} "
            f"at {list(self.place)} ({self.found:.9g}, expected {self.expected:.9g}); allowed {self.allowed:.3g}"
        )


@dataclass(frozen=True)
class Comparison:
    """What was compared, and what differed, in running order."""

    device: str
    against: str
    steps: int
    passes: int
    differences: tuple[Difference, ...]
    largest: float  # largest error of any value, as a share of what is allowed


def compare(session: Session, steps: int = 1, *, rtol: float = RTOL, atol: float = ATOL) -> Comparison:
    """Run `steps` steps pass by pass on the session's device and on the NumPy reference, from the session's present states.

    The session's states move on as the reference computes them. Differences are looked for in every pass of every step.
    """
    program, device = session.program, session.executor
    with ReferenceExecutor() as reference:
        reference.load(program)
        for spec in program.buffers:
            if spec.role in ("state", "data"):
                reference.write(spec.name, np.frombuffer(device.read(spec.name), np.uint8))
        singles = [replace(program, stages=(PassList((replace(p, level=0),)),), feeds=(), records=None) for p in _passes(program)]
        found: list[Difference] = []
        largest = 0.0
        for step in range(session.step_count, session.step_count + steps):
            for index, single in enumerate(singles):
                for difference in _compare_pass(program, single, index, step, reference, device, session, (rtol, atol)):
                    largest = max(largest, difference.error / max(difference.allowed, 1e-30))
                    if difference.error > difference.allowed:
                        found.append(difference)
        device.load(program)
    return Comparison(device.info.name, reference.info.name, steps, len(singles), tuple(found), largest)


def _compare_pass(
    program: Program,
    single: Program,
    index: int,
    step: int,
    reference: ReferenceExecutor,
    device: Executor,
    session: Session,
    tolerance: tuple[float, float],
) -> Iterator[Difference]:
    """The differences of all values that one pass writes, small ones included."""
    (compute_pass,) = single.pass_lists[0]
    if index == 0:
        reference.fill_rings(program, step, 1, session.feeds(step, 1))
    # Everything the pass may read or overwrite, also what it leaves untouched between the elements it writes.
    written = [value for op in compute_pass.ops for value in op.outputs]
    values = dict.fromkeys((*(value for op in compute_pass.ops for value in op.inputs), *written))
    for placement in dict.fromkeys(program.placements[value] for value in values):
        device.write(placement.buffer, np.frombuffer(_bytes(reference, placement), np.uint8), offset_bytes=placement.offset_bytes)
    device.load(single)
    ticket = device.submit(single, first_step=step, steps=1, feeds={})
    device.wait(ticket)
    reference.run_pass(program, index)
    for value in written:
        placement = program.placements[value]
        found = from_stored(_bytes(device, placement), value.dtype, value.shape)
        expected = from_stored(_bytes(reference, placement), value.dtype, value.shape)
        error, allowed, place = _largest_error(found, expected, tolerance)
        if place is not None:
            yield Difference(step, index, compute_pass, value, error, allowed, place, float(found[place]), float(expected[place]))


def _largest_error(found: Array, expected: Array, tolerance: tuple[float, float]) -> tuple[float, float, tuple[int, ...] | None]:
    """The largest absolute error, what is allowed, and where; nowhere for an empty value. NaN on one side: infinite error."""
    if not expected.size:
        return 0.0, 0.0, None
    a, b = found.astype(np.float64), expected.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(a - b))
    error = np.where(np.isnan(error), np.inf, error)
    at = np.unravel_index(int(np.argmax(error)), error.shape)
    finite = np.abs(b[np.isfinite(b)])
    rtol, atol = tolerance
    allowed = atol + rtol * float(finite.max(initial=0.0)) if expected.dtype.kind == "f" else 0.0
    return float(error[at]), allowed, tuple(int(i) for i in at)


def _bytes(executor: Executor, placement: Placement) -> bytes:
    return executor.read(placement.buffer, offset_bytes=placement.offset_bytes, size_bytes=placement.size_bytes)


def _passes(program: Program) -> tuple[ComputePass, ...]:
    return tuple(p for stage in program.pass_lists for p in stage)
