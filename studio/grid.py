"""A spatial hash: what may lie near a rectangle, without looking at everything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from studio.camera import Rect

CELL = 256.0
Cell = tuple[int, int]


class Grid:
    """Things by the cells that their rectangles touch."""

    def __init__(self) -> None:
        self._cells: dict[Cell, dict[Any, None]] = {}
        self._of: dict[Any, tuple[Cell, ...]] = {}

    def put(self, thing: Any, rects: Iterable[Rect]) -> None:
        self.drop(thing)
        cells = tuple(dict.fromkeys(cell for rect in rects for cell in _cells(rect)))
        for cell in cells:
            self._cells.setdefault(cell, {})[thing] = None
        self._of[thing] = cells

    def drop(self, thing: Any) -> None:
        for cell in self._of.pop(thing, ()):
            entries = self._cells[cell]
            entries.pop(thing, None)
            if not entries:
                del self._cells[cell]

    def near(self, rect: Rect) -> list[Any]:
        """What may touch a rectangle, each once."""
        left, top, right, bottom = rect
        if (right - left) * (bottom - top) > CELL * CELL * max(64, len(self._cells)):
            return list(self._of)
        return list(dict.fromkeys(thing for cell in _cells(rect) for thing in self._cells.get(cell, ())))


def _cells(rect: Rect) -> Iterator[Cell]:
    for column in range(math.floor(rect[0] / CELL), math.floor(rect[2] / CELL) + 1):
        for row in range(math.floor(rect[1] / CELL), math.floor(rect[3] / CELL) + 1):
            yield column, row
