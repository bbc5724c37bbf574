"""How long frames take: the window's own part (all but drawing), and from one frame to the next. Costs a microsecond a frame."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

KEPT = 600
WARM_UP = 5  # the first frames make fonts and windows


@dataclass(frozen=True)
class Times:
    """Milliseconds. Those called longest are of all frames since the last `restart`, the rest of the last 600.

    `longest_busy_ms` counts the thread's processor time alone: what `longest_ms` has above it was waiting, for another thread of
    ours or, on a machine with too much to do, for a processor.
    """

    frames: int
    median_ms: float
    p99_ms: float
    longest_ms: float
    longest_busy_ms: float
    wall_ms: float  # median from one frame to the next
    longest_wall_ms: float

    @property
    def frames_per_s(self) -> float:
        return 1000 / self.wall_ms if self.wall_ms else 0.0

    def __str__(self) -> str:
        longest = f"longest {self.longest_ms:.1f} ms ({self.longest_busy_ms:.1f} busy)"
        own = f"own part median {self.median_ms:.1f}, p99 {self.p99_ms:.1f}, {longest}"
        return f"{self.frames} frames; {own}; {self.frames_per_s:.0f} frames/s, longest gap {self.longest_wall_ms:.0f} ms"


def line(times: Times, waiting: tuple[int, int]) -> str:
    """What `munet studio --stats` shows: frames, the window's own part of them, and the worker's two queues."""
    own = f"own {times.median_ms:.1f} ms, p99 {times.p99_ms:.1f}, longest {times.longest_ms:.1f}"
    frames = f"{times.frames_per_s:.0f} frames/s, longest gap {times.longest_wall_ms:.0f} ms"
    return f"{frames}  |  {own}  |  worker {waiting[0]} in, {waiting[1]} out"


class FrameTimes:
    """`add` after each frame; `rested` where the window slept, so that the pause does not count as a frame."""

    def __init__(self, kept: int = KEPT, warm_up: int = WARM_UP):
        self._own: deque[float] = deque(maxlen=kept)
        self._wall: deque[float] = deque(maxlen=kept)
        self._skip = warm_up
        self._last: float | None = None
        self._frames, self._longest, self._busy, self._longest_wall = 0, 0.0, 0.0, 0.0

    def add(self, own_s: float, ended: float, busy_s: float = 0.0) -> None:
        """`own_s`: our part of the frame that ended at `ended`, seconds of the steady clock; `busy_s` of the thread's."""
        wall_ms = (ended - self._last) * 1000 if self._last is not None else None
        self._last = ended
        if self._skip:
            self._skip -= 1
            return
        own_ms = own_s * 1000
        self._frames += 1
        self._own.append(own_ms)
        self._longest = max(self._longest, own_ms)
        self._busy = max(self._busy, 1000 * busy_s)
        if wall_ms is not None:
            self._wall.append(wall_ms)
            self._longest_wall = max(self._longest_wall, wall_ms)

    def rested(self) -> None:
        self._last = None

    def restart(self) -> None:
        """Count from here on."""
        self._own.clear()
        self._wall.clear()
        self._frames, self._longest, self._busy, self._longest_wall = 0, 0.0, 0.0, 0.0

    @property
    def now(self) -> Times:
        own, wall = sorted(self._own), sorted(self._wall)
        return Times(self._frames, _at(own, 0.5), _at(own, 0.99), self._longest, self._busy, _at(wall, 0.5), self._longest_wall)


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
