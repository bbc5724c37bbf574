"""Where a wire that was given lanes is bent, so that it runs over no node: few bends, shared by all wires of one socket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from studio.camera import Point
from studio.layout import Lane

BESIDE = 8.0  # of a column, so far stand the bends
STEEP, SHORT = 0.25, 320.0  # a slope that is still pleasant over long ways; what is short may be steeper
SAME = 1.0  # canvas units that count as one height

Clear = Callable[[Point, Point], bool]  # whether a curve from one point to another runs over no node


@dataclass(frozen=True)
class Route:
    """Middles of the bends, each wired to the one before, and for each end the bend that it starts from; -1 is the socket."""

    bends: tuple[Point, ...]
    starts: tuple[int, ...]


def route(start: Point, lanes: Sequence[Lane], ends: Sequence[tuple[int, Point]], clear: Clear) -> Route:
    """Of all wires of one socket; `ends` are columns and places of the sockets that they lead to."""
    straight = [_is_free(start, at, clear) or not lanes or column <= lanes[0].column for column, at in ends]
    columns = {column - 1 for (column, _), is_straight in zip(ends, straight, strict=True) if not is_straight}
    if not columns:
        return Route((), (-1,) * len(ends))
    used = [lane for lane in lanes if lane.column <= max(columns)]
    branches = {lane.column: (lane.right + BESIDE, lane.y) for lane in used if lane.column in columns}
    ways = [at for (_, at), is_straight in zip(ends, straight, strict=True) if not is_straight]
    if len(branches) == 1:
        middle = _single(start, used, ways, clear)
        if middle is not None:
            return Route((middle,), tuple(-1 if is_straight else 0 for is_straight in straight))
    points = _thinned(start, _corners(used, branches), set(branches.values()), clear)
    places = {column: points.index(at) for column, at in branches.items()}
    starts = (-1 if is_straight else places[column - 1] for (column, _), is_straight in zip(ends, straight, strict=True))
    return Route(tuple(points), tuple(starts))


def _is_free(start: Point, end: Point, clear: Clear) -> bool:
    across, down = end[0] - start[0], abs(end[1] - start[1])
    return (down <= STEEP * across or across <= SHORT) and clear(start, end)


def _single(start: Point, lanes: Sequence[Lane], ends: Sequence[Point], clear: Clear) -> Point | None:
    """One bend that will do for all: in the middle of the lane, or at one of its ends."""
    if any(abs(lane.y - lanes[0].y) > SAME for lane in lanes):
        return None
    left, right, y = lanes[0].left - BESIDE, lanes[-1].right + BESIDE, lanes[0].y
    for x in ((left + right) / 2, left, right):
        if _is_free(start, (x, y), clear) and all(_is_free((x, y), end, clear) for end in ends):
            return x, y
    return None


def _corners(lanes: Sequence[Lane], branches: dict[int, Point]) -> list[Point]:
    """Both ends of every straight piece of the lanes, and where wires branch off."""
    points: list[Point] = []
    for place, lane in enumerate(lanes):
        begins = not place or abs(lanes[place - 1].y - lane.y) > SAME
        ends = place + 1 == len(lanes) or abs(lanes[place + 1].y - lane.y) > SAME
        if begins:
            points.append((lane.left - BESIDE, lane.y))
        if ends or lane.column in branches:
            points.append((lane.right + BESIDE, lane.y))
    return points


def _thinned(start: Point, points: list[Point], kept: set[Point], clear: Clear) -> list[Point]:
    """Without those that the way does not need."""
    found: list[Point] = []
    for place, point in enumerate(points):
        last = found[-1] if found else start
        if point in kept or place + 1 == len(points) or not _is_free(last, points[place + 1], clear):
            found.append(point)
    return found
