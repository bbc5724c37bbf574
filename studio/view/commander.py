"""The palette of commands (Ctrl+P): type, choose with the arrows, Enter runs, Escape or a click elsewhere closes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from studio import commander
from studio.commander import Choice
from studio.icons import ICONS
from studio.texts import label, text
from studio.view import theme
from studio.view.gui import FLOATING, Tag, clear, dpg, is_under_mouse

ROWS = 18
WIDTH, ROW_HEIGHT, TOP, HINT = 620, 19.2, 64, 230  # pixels at scale 1
MAX_USED = 8


class Commander:
    """`offered` gives all choices when the palette opens; `openers` do what is chosen, by its kind."""

    def __init__(self, offered: Callable[[], tuple[Choice, ...]], openers: Mapping[str, Callable[[str], object]]):
        self._offered, self._openers = offered, openers
        self._choices: tuple[Choice, ...] = ()
        self._found: list[Choice] = []
        self._chosen = self._first = 0
        self._used: list[str] = []
        self._built_for = 0.0
        self.window: Tag = dpg.add_window(
            show=False, no_title_bar=True, no_resize=True, no_move=True, no_scrollbar=True, **FLOATING
        )
        self._build()

    def _build(self) -> None:
        """Again when the scale has changed."""
        self._built_for = theme.scale()
        clear(self.window)
        dpg.configure_item(self.window, width=theme.px(WIDTH), height=theme.px(ROWS * ROW_HEIGHT + 84))
        with dpg.group(parent=self.window):
            self.input: Tag = dpg.add_input_text(hint=text("view.find_command"), width=-1, callback=lambda: self.look())
            with (
                dpg.child_window(height=theme.px(ROWS * ROW_HEIGHT), border=False, no_scrollbar=True) as box,
                dpg.table(header_row=False, policy=dpg.mvTable_SizingFixedFit, no_pad_innerX=True),
            ):
                dpg.add_table_column(width_fixed=True, init_width_or_weight=theme.px(26))
                dpg.add_table_column(width_stretch=True)
                dpg.add_table_column(width_fixed=True, init_width_or_weight=theme.px(HINT))
                self.rows = [self._row(index) for index in range(ROWS)]
            dpg.bind_item_theme(box, theme.list_theme())
            with dpg.group(horizontal=True):
                self._count: Tag = dpg.add_text("", color=theme.DIM)
                dpg.add_text(text("view.commands_help"), color=theme.DIM)

    def _row(self, index: int) -> tuple[Tag, Tag, Tag, Tag]:
        """The row, its icon, what can be clicked, its hint."""
        with dpg.table_row() as row:
            icon = dpg.add_text("", color=theme.DIM)
            title = dpg.add_selectable(span_columns=True, callback=partial(self._take, index))
            hint = dpg.add_text("", color=theme.DIM)
        return row, icon, title, hint

    @property
    def is_open(self) -> bool:
        return bool(dpg.is_item_shown(self.window))

    def open(self) -> None:
        """Once more closes it."""
        if self.is_open:
            self.close()
            return
        if self._built_for != theme.scale():
            self._build()
        self._choices = self._offered()
        dpg.set_value(self.input, "")
        left = max(0, (dpg.get_viewport_client_width() - theme.px(WIDTH)) // 2)
        dpg.configure_item(self.window, show=True, pos=[left, theme.px(TOP)])
        dpg.focus_item(self.window)
        dpg.focus_item(self.input)
        self.look()

    def close(self) -> None:
        dpg.hide_item(self.window)

    def sync(self) -> None:
        if self.is_open and dpg.is_mouse_button_clicked(0) and not is_under_mouse(self.window):
            self.close()

    # -- choosing ------------------------------------------------------------------------------------------------------

    def move(self, by: int) -> None:
        if self._found:
            self._chosen = (self._chosen + by) % len(self._found)
            self._first = min(max(self._first, self._chosen - ROWS + 1), self._chosen)
            self._show()

    def enter(self) -> None:
        self.look(keep=True)
        self._take(self._chosen - self._first)

    def look(self, keep: bool = False) -> None:
        """List what the text in the field finds."""
        query = dpg.get_value(self.input)
        theme.redress(self.input, query)
        self._found = commander.find(query, self._choices, self._used)
        if not keep:
            self._chosen = self._first = 0
        self._show()

    @property
    def titles(self) -> list[str]:
        """What is listed, for tests."""
        return [choice.title for choice in self._found[self._first : self._first + ROWS]]

    def _show(self) -> None:
        for index, (row, icon, title, hint) in enumerate(self.rows):
            place = self._first + index
            there = place < len(self._found)
            dpg.configure_item(row, show=there)
            if there:
                choice = self._found[place]
                dpg.set_value(icon, ICONS.get(choice.icon, ""))
                dpg.configure_item(title, label=label(choice.title))
                dpg.set_value(title, place == self._chosen)
                dpg.set_value(hint, theme.shortened(choice.hint, HINT - 8))
                theme.redress(title, choice.title)
        words = str(len(self._found)) if self._found else text("view.nothing_found")
        dpg.set_value(self._count, words)

    def _take(self, index: int) -> None:
        self.close()
        place = self._first + index
        if 0 <= place < len(self._found):
            choice = self._found[place]
            self._used = [choice.key, *(key for key in self._used if key != choice.key)][:MAX_USED]
            self._openers[choice.kind](choice.name)
