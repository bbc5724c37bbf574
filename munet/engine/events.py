"""What a running session tells: frozen records, in the order in which things happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from munet.engine.operator import Array


@dataclass(frozen=True, eq=False, repr=False)
class Progress:
    """Steps have finished. `step` counts all steps of the run so far; `metrics` are those of the last one.

    `rows` holds the metrics of all steps that are new with this event, f32 [steps, len(names)].
    """

    step: int
    metrics: Mapping[str, float]
    rows: Array
    names: tuple[str, ...]
    steps_per_second: float

    def __repr__(self) -> str:
        """Without the rows: those of one event may be hundreds."""
        metrics = ", ".join(f"{name}={value:.4g}" for name, value in self.metrics.items())
        return f"Progress(step={self.step}, {metrics}, {self.steps_per_second:,.4g} steps/s)"

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
    reason: str = ""  # why it ended early, where that was not `stop()`


@dataclass(frozen=True)
class Paused:
    """Training stands still after `step` steps until `resume()`; told each time that more is asked for meanwhile."""

    step: int


@dataclass(frozen=True)
class Carried:
    """States have come from a file or from the drawing before: which were `kept`, `started` anew, `dropped`; by name."""

    step: int
    source: str  # "checkpoint", "weights" or "drawing"
    kept: tuple[str, ...]
    started: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [f"{len(self.kept)} states kept"]
        parts += [f"started anew: {', '.join(self.started)}"] if self.started else []
        parts += [f"dropped: {', '.join(self.dropped)}"] if self.dropped else []
        return "; ".join(parts)


Event = Progress | Evaluated | Saved | Finished | Paused | Carried


@dataclass(frozen=True)
class EventPage:
    """Events in order. Ask for those since `next` to go on; `missed` had gone from the ring before they were asked for."""

    events: tuple[Event, ...]
    next: int
    missed: int = 0


class EventRing:
    """The last events, each with a serial number. One thread adds; any may read, and neither waits for the other."""

    def __init__(self, capacity: int = 4096):
        self._slots: list[tuple[int, Event] | None] = [None] * capacity
        self._added = 0

    def add(self, event: Event) -> Event:
        self._slots[self._added % len(self._slots)] = (self._added, event)
        self._added += 1
        return event

    def since(self, serial: int = 0) -> EventPage:
        """Those with a serial number from `serial` on that are still there."""
        end = self._added
        first = max(serial, end - len(self._slots), 0)
        entries = [self._slots[number % len(self._slots)] for number in range(first, end)]
        # A slot may have been taken by a newer event while we looked.
        found = [entry[1] for number, entry in zip(range(first, end), entries, strict=True) if entry and entry[0] == number]
        return EventPage(tuple(found), end, max(0, end - serial) - len(found))
