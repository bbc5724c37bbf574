"""Questions with a button for each answer, and the file dialog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from studio.view import theme
from studio.view.core import Core
from studio.view.filedialog import FileDialog
from studio.view.gui import FLOATING, Tag, clear, dpg

Choice = tuple[str, Callable[[], None]]


class Dialogs:
    """One question and one file dialog at a time."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.buttons: dict[str, Tag] = {}  # of the question that is open, by label
        self.files = FileDialog(self._folder_of, self._remember)
        with dpg.window(modal=True, show=False, no_title_bar=True, no_resize=True, width=420, **FLOATING) as window:
            self._question_window: Tag = window

    @property
    def is_open(self) -> bool:
        """Whether a question or a file dialog is: keys are theirs then."""
        return self.files.is_open or bool(dpg.is_item_shown(self._question_window))

    def ask(self, question: str, choices: Sequence[Choice]) -> None:
        """A question with a button for each answer; the last one is also what Escape means."""
        clear(self._question_window)
        self.buttons.clear()
        theme.dress(dpg.add_text(question, parent=self._question_window, wrap=400), question)
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
        if self.files.is_open:
            self.files.close()
            return True
        if self.is_open:
            self._answer(self._escape)
            return True
        return False

    def file(
        self, title: str, then: Callable[[Path], None], *, folder: Path | None = None, name: str = "", saving: bool = False,
        purpose: str = "project", endings: Sequence[str] = (".json",),
    ) -> None:  # fmt: skip
        """Ask for a file; `then` gets it, with the first of the endings if it is to be written and has none of them."""
        if not self.is_open:
            self.files.open(title, then, purpose=purpose, endings=endings, saving=saving, folder=folder, name=name)

    def _folder_of(self, purpose: str) -> str:
        return self._core.preferences.folders.get(purpose, "")

    def _remember(self, purpose: str, folder: str) -> None:
        known = self._core.preferences
        self._core.preferences = replace(known, folders={**known.folders, purpose: folder})
