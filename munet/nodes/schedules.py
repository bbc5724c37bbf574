"""Schedules: a number over time, worked out on the host once a step, wired into an optimiser's `rate`."""

from __future__ import annotations

import math

from munet.engine.operator import Live, Param, schedule


@schedule("constant_rate", params={"rate": Live(1e-3, min=0.0)})
def constant_rate(step: int, rate: float) -> float:
    """Always `rate`."""
    return rate


@schedule(
    "cosine",
    params={"rate": Live(1e-3, min=0.0), "steps": Param(1000, min=1), "final": Live(0.0, min=0.0), "warmup": Param(0, min=0)},
)
def cosine(step: int, rate: float, steps: int, final: float, warmup: int) -> float:
    """Linear warm-up, then half a cosine from `rate` down to `final` at `steps`; stays there."""
    if step < warmup:
        return rate * (step + 1) / warmup
    done = min((step - warmup) / max(steps - warmup, 1), 1.0)
    return final + (rate - final) * 0.5 * (1 + math.cos(math.pi * done))
