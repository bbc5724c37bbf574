"""Questions with a button for each answer, and the file dialog."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from studio.view import theme
from studio.view.core import Core
from studio.view.filedialog import FileDialog
from studio.view.gui import FLOATING, Tag, clear, dpg

Choice = tuple[str, Callable[[], None]]
WIDTH = 420


@dataclass(frozen=True)
class Field:
    """A text that is asked for."""

    name: str
    label: str
    value: str = ""
    lines: int = 1


class Dialogs:
    """One question and one file dialog at a time."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.buttons: dict[str, Tag] = {}  # of the question that is open, by label
        self.files = FileDialog(self._folder_of, self._remember)
        self.fields: dict[str, Tag] = {}  # of the form that is open, by name
        with dpg.window(modal=True, show=False, no_title_bar=True, no_resize=True, **FLOATING) as window:
            self._question_window: Tag = window

    @property
    def is_open(self) -> bool:
        """Whether a question or a file dialog is: keys are theirs then."""
        return self.files.is_open or bool(dpg.is_item_shown(self._question_window))

    def ask(self, question: str, choices: Sequence[Choice]) -> None:
        """A question with a button for each answer; the last one is also what Escape means."""
        self._begin(question)
        self._end(choices)

    def form(self, title: str, fields: Sequence[Field], then: Callable[[dict[str, str]], None], yes: str, no: str) -> None:
        """Ask for a few texts; `then` gets them by name. Enter in a field of one line takes them, Escape does not."""

        def take() -> None:
            then({name: dpg.get_value(field) for name, field in self.fields.items()})

        self._begin(title)
        for field in fields:
            dpg.add_text(field.label, parent=self._question_window, color=theme.DIM)
            self.fields[field.name] = made = dpg.add_input_text(
                parent=self._question_window, default_value=field.value, width=-1, multiline=field.lines > 1,
                on_enter=field.lines == 1, callback=partial(self._answer, take) if field.lines == 1 else None,
            )  # fmt: skip
            theme.dress(made, field.value)
            if field.lines > 1:
                dpg.configure_item(made, height=theme.px(20 * field.lines))
        self._end(((yes, take), (no, lambda: None)))
        dpg.focus_item(self.fields[fields[0].name])

    def _begin(self, words: str) -> None:
        clear(self._question_window)
        self.buttons.clear()
        self.fields.clear()
        theme.dress(dpg.add_text(words, parent=self._question_window, wrap=theme.px(WIDTH - 20)), words)

    def _end(self, choices: Sequence[Choice]) -> None:
        with dpg.group(parent=self._question_window, horizontal=True):
            for label, then in choices:
                self.buttons[label] = dpg.add_button(label=label, callback=partial(self._answer, then))
        self._escape = choices[-1][1]
        width, height = dpg.get_viewport_client_width(), dpg.get_viewport_client_height()
        wide = min(theme.px(WIDTH), width - 20)
        dpg.configure_item(self._question_window, show=True, width=wide, pos=[(width - wide) // 2, height // 4])

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
