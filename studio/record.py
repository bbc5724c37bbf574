"""The record of a run for plotting: one thinned series a metric, so that a long run takes no more memory than a short one."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from studio.messages import Metrics

MAX_POINTS = 4000
MAX_EVALUATIONS = 2000

Table = Mapping[str, tuple[Sequence[int], Sequence[float]]]


@dataclass
class Series:
    """Values at steps that are multiples of `stride`; the stride doubles when there are too many."""

    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    stride: int = 1
    _smooth: list[float] = field(default_factory=list, repr=False)
    _smooth_of: tuple[float, int] = (0.0, 0)  # amount and stride that it was made with

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
        """Exponential mean; `amount` 0 leaves the values as they are. Values that are not finite are passed over.

        Only what is new since the last call is worked out.
        """
        if self._smooth_of != (amount, self.stride) or len(self._smooth) > len(self.values):
            self._smooth, self._smooth_of = [], (amount, self.stride)
        last = self._smooth[-1] if self._smooth else math.nan
        for value in self.values[len(self._smooth) :]:
            if math.isfinite(value):
                last = value if not math.isfinite(last) else amount * last + (1 - amount) * value
            self._smooth.append(last)
        return self._smooth

    def cut(self, step: int) -> None:
        """Forget what came after a step."""
        count = bisect_right(self.steps, step)
        del self.steps[count:], self.values[count:]
        self._smooth.clear()


@dataclass
class Points:
    """Values at any steps; every other one goes when there are too many."""

    steps: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, step: int, value: float) -> None:
        if self.steps and self.steps[-1] == step:
            self.values[-1] = value
            return
        self.steps.append(step)
        self.values.append(value)
        if len(self.steps) > MAX_EVALUATIONS:
            del self.steps[1:-1:2], self.values[1:-1:2]

    def cut(self, step: int) -> None:
        count = bisect_right(self.steps, step)
        del self.steps[count:], self.values[count:]


@dataclass
class Record:
    """All metrics of a run; `held_out` are those of evaluations; `version` counts changes."""

    series: dict[str, Series] = field(default_factory=dict)
    held_out: dict[str, Points] = field(default_factory=dict)
    step: int = 0
    steps_per_second: float = 0.0
    version: int = 0

    def add(self, metrics: Metrics) -> None:
        for column, name in enumerate(metrics.names):
            self.series.setdefault(name, Series()).add(metrics.first_step, metrics.rows[:, column].tolist())
        self.step = metrics.step
        self.steps_per_second = metrics.steps_per_second or self.steps_per_second
        self.version += 1

    def evaluated(self, step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            self.held_out.setdefault(name, Points()).add(step, value)
        self.version += 1

    def go_back(self, step: int) -> None:
        """The run goes on from an earlier step."""
        for found in (*self.series.values(), *self.held_out.values()):
            found.cut(step)
        self.step = step
        self.version += 1

    def take_up(self, series: Table, held_out: Table) -> None:
        """What another run has recorded, as this one goes on from it."""
        self.clear()
        self.series = {name: Series(list(steps), list(values)) for name, (steps, values) in series.items()}
        self.held_out = {name: Points(list(steps), list(values)) for name, (steps, values) in held_out.items()}
        self.version += 1

    def stand_at(self, step: int) -> None:
        """The run stands at a step, whatever was heard of those before."""
        self.step = step
        self.version += 1

    def clear(self) -> None:
        self.series.clear()
        self.held_out.clear()
        self.step, self.steps_per_second = 0, 0.0
        self.version += 1

    @property
    def tables(self) -> tuple[Table, Table]:
        """(steps, values) by metric: of training, and of the held-out samples."""
        train = {name: (found.steps, found.values) for name, found in self.series.items()}
        return train, {name: (found.steps, found.values) for name, found in self.held_out.items()}

    @property
    def last(self) -> dict[str, float]:
        return {name: found.values[-1] for name, found in self.series.items() if found.values}
