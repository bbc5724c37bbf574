"""Widgets beside each other that go on in another row where a panel is too narrow for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from studio.view import theme
from studio.view.gui import Tag, dpg

GAP = 7  # between two of them at scale 1


def rows_of(widths: Sequence[float], room: float, gap: float) -> list[int]:
    """The row of each widget; one that is wider than the room has a row to itself."""
    found: list[int] = []
    row, used = 0, 0.0
    for width in widths:
        if used and used + gap + width > room:
            row, used = row + 1, 0.0
        used += width + (gap if used else 0.0)
        found.append(row)
    return found


class Flow:
    """Make each widget, with its tooltip, in a `cell()` of its own; call `fit` once a frame while it is seen."""

    def __init__(self, parent: Tag):
        self._parent: Tag = dpg.add_group(parent=parent)
        self._rows: list[Tag] = []
        self._cells: list[Tag] = []
        self._seen: object = None
        self._places: list[int] = []
        self._most = 100
        self._widths: dict[Tag, float] = {}

    def cell(self) -> Tag:
        # A group of its own: a tooltip that is left behind as the first item of a row would draw the row beside what is above.
        made: Tag = dpg.add_group(parent=self._row(0))
        self._cells.append(made)
        self._places.append(0)
        return made

    def cut(self, count: int) -> None:
        """Keep so many of the widgets."""
        for cell in self._cells[count:]:
            dpg.delete_item(cell)
            self._widths.pop(cell, None)
        del self._cells[count:], self._places[count:]

    def fit(self, room: float, most: int = 100) -> None:
        """So many pixels there are in a row, and so many rows at most; what is beyond is hidden.

        Sizes are known once a widget was drawn.
        """
        for cell in self._cells:
            if width := dpg.get_item_rect_size(cell)[0]:
                self._widths[cell] = width  # of a hidden one, that which it had
        widths = tuple(self._widths.get(cell, 0) for cell in self._cells)
        if (room, widths, most) == self._seen or not all(widths):
            return
        self._seen = room, widths, most
        places = rows_of(widths, room, theme.px(GAP))
        if places == self._places and most == self._most:
            return
        self._places, self._most = places, most
        for cell, place in zip(self._cells, places, strict=True):
            dpg.move_item(cell, parent=self._row(place))
        for place, row in enumerate(self._rows):
            dpg.configure_item(row, show=place in places and place < most)

    def _row(self, place: int) -> Tag:
        while len(self._rows) <= place:
            self._rows.append(dpg.add_group(parent=self._parent, horizontal=True))
        return self._rows[place]
