"""One step along real time: bars on lanes. The levels as they really run, then each pass as it was timed alone, by phase."""

from __future__ import annotations

from dataclasses import dataclass

from munet.inspect import Timings

LANES = ("levels", "forward", "backward", "update")  # from the top down


@dataclass(frozen=True)
class Bar:
    """`index`: of the pass, or of the level on the lane of levels. Times in µs from the start of the step."""

    lane: str
    index: int
    start: float
    end: float
    name: str
    nodes: tuple[str, ...]

    @property
    def us(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class Timeline:
    bars: tuple[Bar, ...]
    end: float  # of the longest lane

    def at(self, us: float, lane: str) -> Bar | None:
        return next((bar for bar in self.bars if bar.lane == lane and bar.start <= us < bar.end), None)

    def near(self, us: float, lane: str, slack: float) -> Bar | None:
        """The bar at a time, or the nearest that is no farther than `slack`: some are narrower than a pixel."""
        found = self.at(us, lane)
        if found is not None:
            return found
        close = [bar for bar in self.bars if bar.lane == lane and bar.start - slack <= us <= bar.end + slack]
        return min(close, key=lambda bar: min(abs(bar.start - us), abs(bar.end - us)), default=None)


def timeline_of(timings: Timings) -> Timeline:
    bars: list[Bar] = []
    now = 0.0
    by_level: dict[int, list[str]] = {}
    for p in timings.passes:
        bars.append(Bar(p.phase, p.index, now, now + p.us, p.name, p.nodes))
        now += p.us
        by_level.setdefault(p.level, []).extend(node for node in p.nodes if node not in by_level.get(p.level, ()))
    end = now
    now = 0.0
    for level, us in enumerate(timings.level_us):
        bars.append(Bar("levels", level, now, now + us, f"{level}", tuple(by_level.get(level, ()))))
        now += us
    return Timeline(tuple(bars), max(end, now))
