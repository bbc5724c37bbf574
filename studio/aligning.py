"""Nodes brought into line, spread evenly, laid on a grid: rectangles in, corners out."""

from __future__ import annotations

from collections.abc import Collection, Mapping

Rects = Mapping[str, tuple[float, float, float, float]]


def align(rects: Rects, how: str) -> dict[str, tuple[float, float]]:
    """Corners of nodes brought to one line: "left", "right", "top", "bottom" or "center" (middles on a horizontal line)."""
    if len(rects) < 2:
        return {}
    left, top = min(r[0] for r in rects.values()), min(r[1] for r in rects.values())
    right, bottom = max(r[2] for r in rects.values()), max(r[3] for r in rects.values())
    moved = {
        "left": lambda r: (left, r[1]),
        "right": lambda r: (right - (r[2] - r[0]), r[1]),
        "top": lambda r: (r[0], top),
        "bottom": lambda r: (r[0], bottom - (r[3] - r[1])),
        "center": lambda r: (r[0], (top + bottom) / 2 - (r[3] - r[1]) / 2),
    }[how]
    return {id_: moved(rect) for id_, rect in rects.items()}


def distribute(rects: Rects, axis: str) -> dict[str, tuple[float, float]]:
    """Equal gaps between nodes along "x" or "y"; the outermost stay."""
    near, far = (0, 2) if axis == "x" else (1, 3)
    ids = sorted(rects, key=lambda id_: rects[id_][near])
    if len(ids) < 3:
        return {}
    extent = sum(rects[id_][far] - rects[id_][near] for id_ in ids)
    gap = (rects[ids[-1]][far] - rects[ids[0]][near] - extent) / (len(ids) - 1)
    at = rects[ids[0]][near]
    positions: dict[str, tuple[float, float]] = {}
    for id_ in ids:
        rect = rects[id_]
        positions[id_] = (at, rect[1]) if axis == "x" else (rect[0], at)
        at += rect[far] - rect[near] + gap
    return positions


def snap(
    positions: Mapping[str, tuple[float, float]], grid: float, only: Collection[str] | None = None
) -> dict[str, tuple[float, float]]:
    """Corners on a grid."""
    chosen = {id_: at for id_, at in positions.items() if only is None or id_ in only}
    return {id_: (round(x / grid) * grid, round(y / grid) * grid) for id_, (x, y) in chosen.items()}
