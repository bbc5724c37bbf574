"""The memory plan as rectangles: passes to the right, bytes upwards. Which lies at a point, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from munet.inspect import MemoryPlan, PassView, PlannedValue
from studio.figures import bytes_text
from studio.texts import text

KINDS = ("activation", "gradient", "temporary", "state", "data", "feed")
AREAS = ("temporary", "state", "data", "feed")  # roles of buffers, in the order in which they are stacked


@dataclass(frozen=True)
class Rect:
    """A value's place: from the start of the pass `left` to the end of pass `right` - 1, bytes `bottom` to `top`."""

    value: PlannedValue
    left: float
    right: float
    bottom: float
    top: float

    def holds(self, x: float, y: float, slack: float = 0.0) -> bool:
        return self.left <= x < self.right and self.bottom - slack <= y < self.top + slack

    @property
    def area(self) -> float:
        return (self.right - self.left) * (self.top - self.bottom)


@dataclass(frozen=True)
class Map:
    """`bases`: where each buffer begins on the y axis, with its size."""

    rects: tuple[Rect, ...]
    width: float
    height: float
    bases: tuple[tuple[str, float, float], ...]

    def at(self, x: float, y: float, slack: float = 0.0) -> Rect | None:
        """The smallest rectangle at a point, so that what lies on top can be reached; `slack`: bytes that count as a hit."""
        return min((r for r in self.rects if r.holds(x, y, slack)), key=lambda r: (not r.holds(x, y), r.area), default=None)


def map_of(plan: MemoryPlan, passes: Sequence[PassView], areas: Sequence[str] = ("temporary",)) -> Map:
    """Buffers of these roles, one upon the other. Sources, which are there before the step, begin at pass 0."""
    firsts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for index, p in enumerate(passes):
        firsts.setdefault(p.level, index)
        ends[p.level] = index + 1
    width = max(len(passes), 1)
    base = 0.0
    bases: dict[str, tuple[float, float]] = {}
    for role in AREAS:
        for buffer in plan.buffers if role in areas else ():
            if buffer.role == role:
                bases[buffer.name] = base, float(buffer.size_bytes)
                base += buffer.size_bytes
    rects = [
        Rect(
            value, firsts.get(max(value.first, 0), 0), ends.get(value.last, width), bases[value.buffer][0] + value.offset_bytes,
            bases[value.buffer][0] + value.offset_bytes + value.size_bytes,
        )
        for value in plan.values
        if value.buffer in bases
    ]  # fmt: skip
    return Map(tuple(rects), float(width), base, tuple((name, *place) for name, place in bases.items()))


def figures(plan: MemoryPlan) -> tuple[tuple[str, str], ...]:
    """What stands above the map: names and values."""
    memory = plan.memory
    saved = memory.arena_bytes_without_aliasing - memory.arena_bytes
    share = saved / memory.arena_bytes_without_aliasing if memory.arena_bytes_without_aliasing else 0.0
    return (
        (text("memory.total"), bytes_text(plan.total_bytes)),
        (text("memory.intermediate"), bytes_text(memory.arena_bytes)),
        (text("memory.lower_bound"), bytes_text(memory.arena_lower_bound)),
        (text("memory.saved"), f"{bytes_text(saved)} ({100 * share:.0f} %)"),
    )


def told(value: PlannedValue, plan: MemoryPlan) -> tuple[str, ...]:
    """Lines about a value: what it is, where and when it is, and with whom it shares bytes and why."""
    shape = ", ".join(map(str, value.shape))
    head = f"{value.name}" + (f"  ·  {value.node}" if value.node else "")
    born = text("memory.before") if value.first < 0 else text("memory.level", level=value.first)
    where = text("memory.place", buffer=value.buffer, offset=f"{value.offset_bytes:,}", size=bytes_text(value.size_bytes))
    what = f"{value.dtype} [{shape}]  {text(f'memory.{value.kind}')}"
    lines = [head, what, where, text("memory.life", first=born, last=value.last)]
    by_index: Mapping[int, PlannedValue] = {v.index: v for v in plan.values}
    for sharing in value.shares[:SHARES_TOLD]:
        other = by_index[sharing.value]
        name = f"{other.name} ({other.node})" if other.node else other.name
        lines.append(text("memory.shares", name=name, reason=sharing.reason))
    if len(value.shares) > SHARES_TOLD:
        lines.append(text("memory.more", count=len(value.shares) - SHARES_TOLD))
    if not value.shares:
        lines.append(text("memory.alone"))
    return tuple(lines)


SHARES_TOLD = 5
