"""Questions, file dialogs, the context menu, the keyboard map, and the offer of what makes a refused wire fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from studio.keys import ACTIONS
from studio.nodeviews import Point
from studio.texts import text
from studio.view import theme
from studio.view.gui import FLOATING, Tag, clear, dpg

Choice = tuple[str, Callable[[], None]]


class Dialogs:
    """One modal question, one popup and one file dialog at a time."""

    def __init__(self) -> None:
        self.buttons: dict[str, Tag] = {}  # of the question that is open, by label
        self._map: Tag = 0
        self._file_open = False
        with dpg.window(modal=True, show=False, no_title_bar=True, no_resize=True, width=420, **FLOATING) as window:
            self._question_window: Tag = window
        with dpg.window(popup=True, show=False, no_move=True, autosize=True, **FLOATING) as popup:
            self._popup: Tag = popup

    @property
    def is_open(self) -> bool:
        """Whether a question or a file dialog is: keys are theirs then."""
        return self._file_open or bool(dpg.is_item_shown(self._question_window))

    def ask(self, question: str, choices: Sequence[Choice]) -> None:
        """A question with a button for each answer; the last one is also what Escape means."""
        clear(self._question_window)
        self.buttons.clear()
        dpg.add_text(question, parent=self._question_window, wrap=400)
        with dpg.group(parent=self._question_window, horizontal=True):
            for label, then in choices:
                self.buttons[label] = dpg.add_button(label=label, callback=partial(self._answer, then))
        self._escape = choices[-1][1]
        width, height = dpg.get_viewport_client_width(), dpg.get_viewport_client_height()
        dpg.configure_item(self._question_window, show=True, pos=[width // 2 - 210, height // 3])

    def _answer(self, then: Callable[[], None]) -> None:
        dpg.hide_item(self._question_window)
        then()

    def cancel(self) -> bool:
        """Escape: close what is open; whether anything was."""
        if self._file_open:
            return True
        if self.is_open:
            self._answer(self._escape)
            return True
        if dpg.is_item_shown(self._popup):
            dpg.hide_item(self._popup)
            return True
        return self._close_map()

    def _close_map(self) -> bool:
        there = bool(self._map) and dpg.does_item_exist(self._map)
        if there:
            dpg.delete_item(self._map)
        self._map = 0
        return bool(there)

    def menu(self, at: Point, choices: Sequence[Choice], head: str = "") -> None:
        """A popup with a line for each choice."""
        clear(self._popup)
        self.buttons.clear()
        if head:
            dpg.add_text(head, parent=self._popup, wrap=360, color=theme.ERROR)
        for label, then in choices:
            row = dpg.add_selectable(label=label, parent=self._popup, callback=partial(self._picked, then), width=180)
            self.buttons[label] = row
        dpg.configure_item(self._popup, show=True, pos=[at[0], at[1]])

    def _picked(self, then: Callable[[], None]) -> None:
        dpg.hide_item(self._popup)
        then()

    def file(self, title: str, then: Callable[[Path], None], *, folder: Path, name: str = "", saving: bool = False) -> None:
        """Ask for a file; `then` gets it, with the ending of projects when it is to be written."""

        def chosen(sender: Tag, given: dict[str, Any]) -> None:
            path = Path(given["file_path_name"])
            if saving and path.suffix != ".json":
                path = path.with_name(path.name.removesuffix(".*") + ".json")
            cancelled(sender)
            then(path)

        def cancelled(sender: Tag) -> None:
            dpg.delete_item(sender)
            self._file_open = False

        if self.is_open:
            return
        self._file_open = True
        with dpg.file_dialog(
            label=title, default_path=str(folder), default_filename=name, callback=chosen, cancel_callback=cancelled,
            modal=True, width=720, height=440,
        ):  # fmt: skip
            dpg.add_file_extension(".json", color=theme.ACCENT)

    def keyboard_map(self, names: Collection[str]) -> None:
        """All actions and their keys; once more, or Escape, closes it."""
        if self._close_map():
            return
        shown = [action for action in ACTIONS if action.shortcuts and action.name in names]
        half = (len(shown) + 1) // 2
        with (
            dpg.window(label=text("action.help"), width=760, height=600, pos=[200, 60], **FLOATING) as self._map,
            dpg.table(header_row=False, policy=dpg.mvTable_SizingStretchProp),
        ):
            for weight in (1.3, 1.5, 1.3, 1.1):
                dpg.add_table_column(init_width_or_weight=weight)
            for row in range(half):
                with dpg.table_row():
                    for action in shown[row::half]:
                        dpg.add_text(action.title)
                        dpg.add_text(", ".join(action.shortcuts), color=theme.ACCENT)
