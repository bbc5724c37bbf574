"""The record of a run for plotting: one thinned series a metric, so that a long run takes no more memory than a short one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from studio.messages import Metrics

MAX_POINTS = 4000


@dataclass
class Series:
    """Values at steps that are multiples of `stride`; the stride doubles when there are too many."""

    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    stride: int = 1

    def add(self, first_step: int, values: list[float]) -> None:
        """Values of the steps first_step + 1 and following."""
        start = -(first_step + 1) % self.stride
        for offset in range(start, len(values), self.stride):
            self.steps.append(first_step + 1 + offset)
            self.values.append(values[offset])
        while len(self.steps) > MAX_POINTS:
            self.stride *= 2
            kept = [i for i, step in enumerate(self.steps) if step % self.stride == 0]
            self.steps = [self.steps[i] for i in kept]
            self.values = [self.values[i] for i in kept]

    def smoothed(self, amount: float) -> list[float]:
        """Exponential mean; `amount` 0 leaves the values as they are. Values that are not finite are passed over."""
        found: list[float] = []
        last = float("nan")
        for value in self.values:
            if np.isfinite(value):
                last = value if not np.isfinite(last) else amount * last + (1 - amount) * value
            found.append(last)
        return found


@dataclass
class Record:
    """All metrics of a run; `version` counts changes."""

    series: dict[str, Series] = field(default_factory=dict)
    step: int = 0
    steps_per_second: float = 0.0
    version: int = 0

    def add(self, metrics: Metrics) -> None:
        for column, name in enumerate(metrics.names):
            self.series.setdefault(name, Series()).add(metrics.first_step, metrics.rows[:, column].tolist())
        self.step = metrics.step
        self.steps_per_second = metrics.steps_per_second or self.steps_per_second
        self.version += 1

    def clear(self) -> None:
        self.series.clear()
        self.step, self.steps_per_second = 0, 0.0
        self.version += 1
