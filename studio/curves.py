"""The curve of a wire, and lines through points: how far from a point, what they cross. Nothing is known of nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache

from studio.camera import Point, Rect

SEGMENTS = 20  # of a wire's curve
Control = tuple[Point, Point, Point, Point]


def bezier(start: Point, end: Point) -> Control:
    """Control points of a wire that leaves to the right and arrives from the left."""
    reach = max(24.0, min(160.0, abs(end[0] - start[0]) * 0.5 + abs(end[1] - start[1]) * 0.1))
    return start, (start[0] + reach, start[1]), (end[0] - reach, end[1]), end


def along(control: Control, count: int = SEGMENTS) -> tuple[Point, ...]:
    """Points of a cubic Bézier curve, its ends included."""
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = control
    return tuple((a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3) for a, b, c, d in _weights(count))


@cache
def _weights(count: int) -> tuple[tuple[float, float, float, float], ...]:
    """How much of each control point there is in each point of a curve."""
    shares = [step / count for step in range(count + 1)]
    return tuple(((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t * t, t**3) for t in shares)


def distance_to(at: Point, points: Sequence[Point]) -> float:
    """From a point to a line through points."""
    best = math.inf
    px, py = points[0]
    for qx, qy in points[1:]:
        dx, dy = qx - px, qy - py
        length = dx * dx + dy * dy or 1e-9
        t = max(0.0, min(1.0, ((at[0] - px) * dx + (at[1] - py) * dy) / length))
        best = min(best, math.hypot(at[0] - px - t * dx, at[1] - py - t * dy))
        px, py = qx, qy
    return best


def pieces(points: Sequence[Point], length: int = 5) -> Iterator[Rect]:
    """Rectangles around pieces of a line."""
    for first in range(0, len(points) - 1, length):
        xs, ys = zip(*points[first : first + length + 1], strict=True)
        yield (min(xs), min(ys), max(xs), max(ys))


def span(a: Point, b: Point) -> Rect:
    return (min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1]))


def cross(a: Point, b: Point, p: Point, q: Point) -> bool:
    """Whether two line segments cross."""

    def side(o: Point, u: Point, v: Point) -> float:
        return (u[0] - o[0]) * (v[1] - o[1]) - (u[1] - o[1]) * (v[0] - o[0])

    return side(a, b, p) * side(a, b, q) <= 0 and side(p, q, a) * side(p, q, b) <= 0 and meet(span(a, b), span(p, q))


def meet(a: Rect, b: Rect) -> bool:
    """Whether two rectangles have a point in common."""
    return a[0] <= b[2] and b[0] <= a[2] and a[1] <= b[3] and b[1] <= a[3]
