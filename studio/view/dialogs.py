"""Questions with a button for each answer, and the file dialog."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from studio.preferences import is_fit
from studio.view import theme
from studio.view.core import Core
from studio.view.filedialog import FileDialog
from studio.view.gui import FLOATING, Tag, clear, dpg

Choice = tuple[str, Callable[[], None]]
WIDTH = 420  # at scale 1
HELD_S = 0.35


@dataclass(frozen=True)
class Field:
    """A text that is asked for."""

    name: str
    label: str
    value: str = ""
    lines: int = 1


class Question:
    """A question with a button for each answer; arrows and Enter do as well. `answered` gets what is to be done."""

    def __init__(self, answered: Callable[[Callable[[], None]], None]):
        self._answered = answered
        self.buttons: dict[str, Tag] = {}  # by label
        self.fields: dict[str, Tag] = {}  # of a form, by name
        self._choices: Sequence[Choice] = ()
        self._width = 0.0  # for which it was put into the middle
        self._mark = 0  # the choice that Enter takes
        self._asked_at = 0.0
        self._blue, self._plain = theme.button_theme(theme.BLUE), theme.button_theme(theme.BODY)
        self._window: Tag = dpg.add_window(modal=True, show=False, no_title_bar=True, no_resize=True, autosize=True, **FLOATING)

    @property
    def is_open(self) -> bool:
        return bool(dpg.is_item_shown(self._window))

    def ask(self, question: str, choices: Sequence[Choice], careful: bool) -> None:
        self._begin(question)
        self._end(choices)
        self._show_mark(len(choices) - 1 if careful else 0)

    def form(self, title: str, fields: Sequence[Field], then: Callable[[dict[str, str]], None], yes: str, no: str) -> None:
        def take() -> None:
            then({name: dpg.get_value(field) for name, field in self.fields.items()})

        self._begin(title)
        for field in fields:
            dpg.add_text(field.label, parent=self._window, color=theme.DIM)
            self.fields[field.name] = made = dpg.add_input_text(
                parent=self._window, default_value=field.value, width=theme.px(WIDTH), multiline=field.lines > 1,
                on_enter=field.lines == 1, callback=partial(self.answer, 0) if field.lines == 1 else None,
            )  # fmt: skip
            theme.dress(made, field.value)
            if field.lines > 1:
                dpg.configure_item(made, height=theme.px(20 * field.lines))
        self._end(((yes, take), (no, lambda: None)))
        dpg.focus_item(self.fields[fields[0].name])

    def _begin(self, words: str) -> None:
        clear(self._window)
        self.buttons.clear()
        self.fields.clear()
        self._asked_at = time.monotonic()
        theme.dress(dpg.add_text(words, parent=self._window, wrap=theme.px(WIDTH)), words)

    def _end(self, choices: Sequence[Choice]) -> None:
        self._choices = choices
        dpg.add_spacer(parent=self._window, height=theme.px(4))
        with dpg.group(parent=self._window, horizontal=True):
            for place, (label, _) in enumerate(choices):
                self.buttons[label] = dpg.add_button(label=label, callback=partial(self.answer, place))
        width, height = dpg.get_viewport_client_width(), dpg.get_viewport_client_height()
        dpg.configure_item(self._window, show=True, pos=[max(0, (width - theme.px(WIDTH)) // 2), height // 4])

    def sync(self) -> None:
        """Once a frame: in the middle, as soon as its width is known."""
        width = dpg.get_item_rect_size(self._window)[0] if self.is_open else 0
        if width and width != self._width:
            place = max(0, (dpg.get_viewport_client_width() - width) // 2), dpg.get_viewport_client_height() // 4
            dpg.configure_item(self._window, pos=place)
        self._width = width

    def move(self, by: int) -> None:
        """An arrow: another choice is the one that Enter takes. In a form the keys are those of its fields."""
        if not self.fields:
            self._show_mark((self._mark + by) % len(self._choices))

    def enter(self) -> None:
        """Not at once: the key that led to the question may still be held."""
        if not self.fields and time.monotonic() - self._asked_at > HELD_S:
            self.answer(self._mark)

    def answer(self, place: int) -> None:
        dpg.hide_item(self._window)
        self._answered(self._choices[place][1])

    def escape(self) -> None:
        self.answer(len(self._choices) - 1)

    def _show_mark(self, place: int) -> None:
        self._mark = place
        for index, button in enumerate(self.buttons.values()):
            dpg.bind_item_theme(button, self._blue if index == place else self._plain)


class Dialogs:
    """One question and one file dialog at a time."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._answers: deque[tuple[int, Callable[[], None]]] = deque()  # with the frames that have to go by first
        self.files = FileDialog(self._folder_of, self._remember)
        self.question = Question(lambda then: self._answers.append((2, then)))

    @property
    def is_open(self) -> bool:
        """Whether a question or a file dialog is: keys are theirs then."""
        return self.files.is_open or self.question.is_open

    @property
    def buttons(self) -> dict[str, Tag]:
        """Of the question that is open, by label."""
        return self.question.buttons

    @property
    def fields(self) -> dict[str, Tag]:
        """Of the form that is open, by name."""
        return self.question.fields

    @property
    def busy(self) -> bool:
        """Whether something is about to change without the person's doing."""
        return bool(self._answers) or self.files.busy

    def ask(self, question: str, choices: Sequence[Choice], *, careful: bool = False) -> None:
        """A question with a button for each answer; the last one is also what Escape means. Enter means the first one, or, where
        one has to be `careful`, the last."""
        self.question.ask(question, choices, careful)

    def form(self, title: str, fields: Sequence[Field], then: Callable[[dict[str, str]], None], yes: str, no: str) -> None:
        """Ask for a few texts; `then` gets them by name. Enter in a field of one line takes them, Escape does not."""
        self.question.form(title, fields, then, yes, no)

    def sync(self) -> None:
        """Once a frame. A dialog that opens in the frame in which another one closes would be closed with it: answers wait."""
        self.files.sync()
        self.question.sync()
        waiting = [(frames - 1, then) for frames, then in self._answers]
        self._answers.clear()
        self._answers.extend(entry for entry in waiting if entry[0])
        for frames, then in waiting:
            if not frames:
                then()

    def cancel(self) -> bool:
        """Escape: close what is open; whether anything was."""
        if self.files.is_open:
            self.files.close()
            return True
        if self.question.is_open:
            self.question.escape()
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
        if not is_fit(folder):  # preferences cannot hold it
            return
        known = self._core.preferences
        self._core.preferences = replace(known, folders={**known.folders, purpose: folder})
