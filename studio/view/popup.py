"""A menu at the mouse: lines with their shortcuts, arrows and Enter choose, Escape or a press elsewhere closes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from studio.nodeviews import Point
from studio.texts import label
from studio.view import theme
from studio.view.gui import FLOATING, Tag, clear, dpg

ROW_HEIGHT, SIDE = 23, 24  # pixels, roughly: only to keep the menu in the window
MENU_BAR = 24


@dataclass(frozen=True)
class Row:
    """`shortcut` stands on the right; `color` is a square on the left."""

    label: str
    then: Callable[[], object]
    shortcut: str = ""
    color: tuple[int, int, int] | None = None


class Popup:
    """One at a time; None among the rows is a line between groups."""

    def __init__(self) -> None:
        self.buttons: dict[str, Tag] = {}  # of the menu that is open, by label
        self._rows: list[Row] = []
        self._chosen = -1
        with dpg.window(popup=True, show=False, no_move=True, autosize=True, min_size=(20, 20), **FLOATING) as window:
            self._window: Tag = window
        dpg.bind_item_theme(window, theme.list_theme())

    @property
    def is_open(self) -> bool:
        return bool(dpg.is_item_shown(self._window))

    def open(self, at: Point, rows: Sequence[Row | None], head: str = "", *, is_error: bool = False) -> None:
        clear(self._window)
        self.buttons.clear()
        self._rows = [row for row in rows if row is not None]
        self._chosen = 0 if is_error and self._rows else -1
        if head:
            color = theme.ERROR if is_error else theme.DIM
            theme.dress(dpg.add_text(head, parent=self._window, wrap=theme.px(360), color=color), head)
            if self._rows:
                dpg.add_separator(parent=self._window)
        width = self._width(rows)
        for row in rows:
            if row is None:
                dpg.add_separator(parent=self._window)
            else:
                self._add(row, width)
        lines = len(rows) + (1 + len(head) // 50 if head else 0)
        room = dpg.get_viewport_client_width() - width - SIDE, dpg.get_viewport_client_height() - lines * ROW_HEIGHT - SIDE
        dpg.configure_item(self._window, show=True, pos=[max(0, min(at[0], room[0])), max(MENU_BAR, min(at[1], room[1]))])
        self._show()

    def _width(self, rows: Sequence[Row | None]) -> float:
        shown = [row for row in rows if row is not None]
        return max((self._size(r.label) + (self._size(r.shortcut) + 40 if r.shortcut else 24) for r in shown), default=0.0)

    @staticmethod
    def _size(words: str) -> float:
        measured = dpg.get_text_size(words, font=theme.font_for(words) or 0)  # knows nothing of the scale
        return dpg.get_global_font_scale() * (float(measured[0]) if measured else 8.0 * len(words))

    def _add(self, row: Row, width: float) -> None:
        with dpg.group(parent=self._window, horizontal=True):
            if row.color is not None:
                with dpg.drawlist(width=12, height=16):
                    dpg.draw_rectangle((0, 3), (11, 14), color=(0, 0, 0, 0), fill=row.color, rounding=2)
            label_width = self._size(row.label) + 14 if row.shortcut else width
            button = dpg.add_selectable(label=label(row.label), width=width, callback=partial(self._pick, row))
            self.buttons[row.label] = theme.dress(button, row.label)
            if row.shortcut:
                dpg.add_text(row.shortcut, color=theme.DIM, indent=max(label_width, width - self._size(row.shortcut)))

    def close(self) -> None:
        dpg.hide_item(self._window)

    def move(self, by: int) -> None:
        if self._rows:
            self._chosen = (self._chosen + by) % len(self._rows) if self._chosen >= 0 else (0 if by > 0 else len(self._rows) - 1)
            self._show()

    def enter(self) -> None:
        if 0 <= self._chosen < len(self._rows):
            self._pick(self._rows[self._chosen])

    def _show(self) -> None:
        for place, tag in enumerate(self.buttons.values()):
            dpg.set_value(tag, place == self._chosen)

    def _pick(self, row: Row) -> None:
        self.close()
        row.then()
