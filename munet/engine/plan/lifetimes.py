"""When each temporary is first written and last read, in levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from munet.engine.ir.module import Value
from munet.engine.plan.levels import Schedule


@dataclass(frozen=True)
class Lifetime:
    """A stretch of levels, both ends included, and the bytes that are needed through it."""

    values: tuple[Value, ...]
    first: int
    last: int
    size_bytes: int

    def meets(self, other: Lifetime) -> bool:
        return self.first <= other.last and other.first <= self.last


def value_lifetimes(schedule: Schedule, *, keep_all: bool = False) -> dict[Value, Lifetime]:
    """Lifetimes of all values that ops make and that lie in no state's place. Results live to the end.

    `keep_all` lets every value live through the whole step: nothing shares bytes then.
    """
    module, end = schedule.module, schedule.level_count - 1
    born: dict[Value, int] = {v: schedule.level[op] for op in module.ops for v in op.outputs if v not in schedule.in_place}
    last = dict(born)
    for op in module.ops:
        for value in op.inputs:
            if value in last:
                last[value] = max(last[value], schedule.level[op])
    for value in module.results():
        if value in last:
            last[value] = end
    if keep_all:
        return {v: Lifetime((v,), 0, end, v.size_bytes) for v in born}
    return {v: Lifetime((v,), born[v], last[v], v.size_bytes) for v in born}


def live_bytes(lifetimes: Sequence[Lifetime], level_count: int) -> int:
    """The least any plan can reach: the largest sum of sizes alive in one level."""
    change = [0] * (level_count + 1)
    for lifetime in lifetimes:
        change[lifetime.first] += lifetime.size_bytes
        change[lifetime.last + 1] -= lifetime.size_bytes
    peak = total = 0
    for delta in change:
        total += delta
        peak = max(peak, total)
    return peak


def joined(lifetimes: Sequence[Lifetime], size_bytes: int) -> Lifetime:
    """One stretch that covers all of them."""
    first = min(lifetime.first for lifetime in lifetimes)
    last = max(lifetime.last for lifetime in lifetimes)
    return replace(
        lifetimes[0],
        values=tuple(v for lifetime in lifetimes for v in lifetime.values),
        first=first,
        last=last,
        size_bytes=size_bytes,
    )
