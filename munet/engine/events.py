"""What a running session tells: frozen records, in the order in which things happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from munet.engine.operator import Array


@dataclass(frozen=True, eq=False)
class Progress:
    """Steps have finished. `step` counts all steps of the run so far; `metrics` are those of the last one.

    `rows` holds the metrics of all steps that are new with this event, f32 [steps, len(names)].
    """

    step: int
    metrics: Mapping[str, float]
    rows: Array
    names: tuple[str, ...]
    steps_per_second: float

    @property
    def first_step(self) -> int:
        """The number of steps before the first row."""
        return self.step - len(self.rows)


@dataclass(frozen=True)
class Evaluated:
    """The held-out split has been gone through: means over all of its samples."""

    step: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Saved:
    """A checkpoint has been written."""

    path: str
    step: int


@dataclass(frozen=True)
class Finished:
    """The steps that were asked for are done, or `stopped` early."""

    step: int
    metrics: Mapping[str, float]
    wall_s: float
    stopped: bool = False


Event = Progress | Evaluated | Saved | Finished
