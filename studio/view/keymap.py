"""The keyboard map (`?`): all actions and what the mouse does, by groups, with a search. Escape or `?` closes it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from studio.keys import ACTIONS
from studio.texts import text
from studio.view import theme
from studio.view.gui import FLOATING, Tag, clear, dpg, is_under_mouse

WIDTH, HEIGHT, COLUMNS = 940, 760, 3
MOUSE = ("select", "box", "pan", "zoom", "add", "wire", "cut", "insert", "reroute", "drag_copy", "enter", "menu")
Row = tuple[str, str]  # what, and by which keys


class KeyboardMap:
    """`names`: actions that there are; `shortcuts`: by which keys each is started now."""

    def __init__(self, names: Callable[[], Collection[str]], shortcuts: Callable[[], Mapping[str, Sequence[str]]]) -> None:
        self._names, self._shortcuts = names, shortcuts
        with dpg.window(
            label=text("action.help"), show=False, no_resize=True, no_collapse=True, **FLOATING
        ) as self.window:  # fmt: skip
            self.input: Tag = dpg.add_input_text(hint=text("view.find_key"), width=-1, callback=self._fill)
            self._box: Tag = dpg.add_child_window(border=False)
        dpg.bind_item_theme(self._box, theme.list_theme())

    @property
    def is_open(self) -> bool:
        return bool(dpg.is_item_shown(self.window))

    def toggle(self) -> None:
        if self.is_open:
            self.close()
            return
        dpg.set_value(self.input, "")
        width = min(theme.px(WIDTH), dpg.get_viewport_client_width() - 20)
        height = min(theme.px(HEIGHT), dpg.get_viewport_client_height() - theme.px(60))
        top = max(theme.px(30), (dpg.get_viewport_client_height() - height) // 2)
        place = [(dpg.get_viewport_client_width() - width) // 2, top]
        dpg.configure_item(self.window, show=True, width=width, height=height, pos=place)
        dpg.focus_item(self.window)
        dpg.focus_item(self.input)
        self._fill()

    def close(self) -> None:
        dpg.hide_item(self.window)

    def sync(self) -> None:
        if self.is_open and dpg.is_mouse_button_clicked(0) and not is_under_mouse(self.window):
            self.close()

    def groups(self, query: str = "") -> dict[str, list[Row]]:
        """Rows by the titles of their groups; those that hold all words of the query."""
        shortcuts = self._shortcuts()
        found: dict[str, list[Row]] = {}
        for action in ACTIONS:
            if action.name in self._names():
                row = action.title, "   ".join(shortcuts.get(action.name, ()))
                found.setdefault(text(f"group.{action.group}"), []).append(row)
        found[text("view.mouse")] = [(text(f"mouse.{name}"), text(f"mouse_by.{name}")) for name in MOUSE]
        words = query.lower().split()
        if words:
            fitting = {
                title: [row for row in rows if all(word in f"{title} {row[0]} {row[1]}".lower() for word in words)]
                for title, rows in found.items()
            }
            return {title: rows for title, rows in fitting.items() if rows}
        return {title: rows for title, rows in found.items() if rows}

    def _fill(self) -> None:
        clear(self._box)
        groups = self.groups(dpg.get_value(self.input))
        if not groups:
            dpg.add_text(text("view.nothing_found"), parent=self._box, color=theme.DIM)
            return
        with dpg.table(parent=self._box, header_row=False, policy=dpg.mvTable_SizingStretchSame, borders_innerV=False):
            for _ in range(COLUMNS):
                dpg.add_table_column()
            with dpg.table_row():
                for column in columns(groups, COLUMNS):
                    with dpg.table_cell():
                        for title, rows in column:
                            self._group(title, rows)

    def _group(self, title: str, rows: Sequence[Row]) -> None:
        dpg.add_text(title, color=theme.ACCENT)
        with dpg.table(header_row=False, policy=dpg.mvTable_SizingStretchProp):
            dpg.add_table_column(init_width_or_weight=1.25)
            dpg.add_table_column(init_width_or_weight=1.0)
            for what, keys in rows:
                with dpg.table_row():
                    dpg.add_text(what, wrap=0)
                    dpg.add_text(keys, wrap=0, color=theme.DIM)
        dpg.add_spacer(height=theme.px(8))


def columns(groups: Mapping[str, Sequence[Row]], count: int) -> list[list[tuple[str, Sequence[Row]]]]:
    """Groups in so many columns of nearly the same height, the largest first; a title counts as two rows."""
    found: list[list[tuple[str, Sequence[Row]]]] = [[] for _ in range(count)]
    heights = [0] * count
    for title, rows in sorted(groups.items(), key=lambda group: -len(group[1])):
        least = heights.index(min(heights))
        found[least].append((title, rows))
        heights[least] += len(rows) + 2
    return [column for column in found if column]
