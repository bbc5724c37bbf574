"""MuNet's side: losses of the first steps, then times, over a Session as anybody would use it."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workloads import Workload
from munet import Progress, Session

WARM_S = 1.0  # idle GPUs run several times slower for about a second
STRETCHES = 5


@dataclass
class Measured:
    """`losses` of the first steps; `us` a step, medians: by the wall clock, and on the device between its own timestamps."""

    losses: list[float]
    parameters: dict[str, np.ndarray[Any, Any]]
    wall_us: float = 0.0
    device_us: float | None = None
    passes: int = 0
    levels: int = 0
    arena_bytes: int = 0
    device_bytes: int | None = None  # all that the session holds on the device, samples included
    all_us: list[float] = field(default_factory=list)


def losses_of(session: Session, steps: int) -> list[float]:
    found: list[float] = []
    for event in session.train(steps):
        if isinstance(event, Progress):
            found += [float(row[list(event.names).index("loss")]) for row in event.rows]
    return found


def train(session: Session, steps: int) -> float:
    """Microseconds a step."""
    started = time.perf_counter()
    for _ in session.train(steps):
        pass
    return 1e6 * (time.perf_counter() - started) / steps


def measure(work: Workload, folder: Path, *, device: str, check_steps: int, stretch_s: float) -> Measured:
    """Losses of `check_steps` steps from the start, then the time of a step; `parameters` as they were at the start."""
    with Session.open(work.project(folder), device) as session:
        start = {name: array for name, array in session.states().items() if not name.startswith("train/")}
        done = Measured(losses_of(session, check_steps), start)
        warm_until = time.perf_counter() + WARM_S
        step_us = train(session, 2)
        while time.perf_counter() < warm_until:
            step_us = train(session, max(1, min(work.steps, int(2e5 / step_us))))
        count = max(2, min(work.steps, int(1e6 * stretch_s / step_us)))
        gpu_ms, timed = session.totals.gpu_ms, session.totals.timed_steps
        done.all_us = [train(session, count) for _ in range(STRETCHES)]
        done.wall_us = statistics.median(done.all_us)
        if session.totals.timed_steps > timed:
            done.device_us = 1e3 * (session.totals.gpu_ms - gpu_ms) / (session.totals.timed_steps - timed)
        program = session.program
        done.passes, done.levels, done.arena_bytes = program.pass_count, program.level_count, program.memory.arena_bytes
        done.device_bytes = getattr(session.executor, "allocated_bytes", None)
        return done
