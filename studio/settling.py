"""How high places in columns lie: as near as can be to where they would like to be, in order and without overlap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Place = Any
NEAR = 0.5  # canvas units that count as level
ROUNDS = 4


@dataclass(frozen=True)
class Touch:
    """What a place is joined with: how far below the tops of the place itself and of the other, and how much it counts."""

    other: Place
    own: float
    others: float
    weight: float


def wanted(place: Place, tops: Mapping[Place, float], near: Sequence[Touch]) -> float:
    """The top at which what it touches is level with it, in the mean."""
    if not near:
        return tops[place]
    total = sum(touch.weight * (tops[touch.other] + touch.others - touch.own) for touch in near)
    return total / sum(touch.weight for touch in near)


def settle(
    column: Sequence[Place], goals: Sequence[float], tops: dict[Place, float], heights: Sequence[float],
    weights: Mapping[Place, float],
) -> None:  # fmt: skip
    """Set the tops of a column. `heights` include the gap below; blocks of places that touch move as one (pool adjacent
    violators, weighted least squares)."""
    offsets: list[float] = []
    y = 0.0
    for height in heights:
        offsets.append(y)
        y += height
    blocks: list[tuple[float, float, int]] = []  # weighted sum of goal minus offset, weight, count
    for place, goal, offset in zip(column, goals, offsets, strict=True):
        weight = weights.get(place, 1.0)
        total, count = weight * (goal - offset), 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / weight:
            last_total, last_weight, last_count = blocks.pop()
            total, weight, count = total + last_total, weight + last_weight, count + last_count
        blocks.append((total, weight, count))
    index = 0
    for total, weight, count in blocks:
        for _ in range(count):
            tops[column[index]] = total / weight + offsets[index]
            index += 1


Rows = Mapping[Place, tuple[Sequence[Place], int]]  # the column of a place, and its row in it


def level(trunks: Sequence[Sequence[Place]], rows: Rows, tops: dict[Place, float], extent: Callable[[Place], float]) -> None:
    """Bring the lanes of each trunk to one height where there is room, in as few pieces as possible.

    Lanes beside each other make room for one another in turn. `extent` is a place's height with the gap below it.
    """
    for _ in range(ROUNDS):
        moved = False
        for trunk in trunks:
            moved |= _level_one(trunk, rows, tops, extent)
        if not moved:
            return


def _level_one(trunk: Sequence[Place], rows: Rows, tops: dict[Place, float], extent: Callable[[Place], float]) -> bool:
    """Whether anything was moved."""
    first, moved = 0, False
    while first < len(trunk):
        low, high = -1e30, 1e30
        last = first
        while last < len(trunk):
            column, row = rows[trunk[last]]
            above = tops[column[row - 1]] + extent(column[row - 1]) if row else -1e30
            below = tops[column[row + 1]] - extent(trunk[last]) if row + 1 < len(column) else 1e30
            if max(low, above) > min(high, below):
                break
            low, high = max(low, above), min(high, below)
            last += 1
        last = max(last, first + 1)
        piece = trunk[first:last]
        y = min(high, max(low, sum(tops[place] for place in piece) / len(piece)))
        if low <= high:
            for place in piece:
                moved |= abs(tops[place] - y) > NEAR
                tops[place] = y
        first = last
    return moved
