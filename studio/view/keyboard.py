"""Key presses to actions, by the table of shortcuts that the person may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from studio.keys import action_for, keymap, normal
from studio.view.actions import Actions
from studio.view.gui import dpg, modifiers
from studio.view.searchbox import Search


def key_names() -> dict[int, str]:
    """Dear PyGui's key codes by the names of the keyboard map."""
    names = {"Delete": "Delete", "Back": "Backspace", "Escape": "Escape", "Return": "Enter", "NumPadEnter": "Enter", "Tab": "Tab"}
    names |= {"Spacebar": "Space", "Home": "Home", "End": "End", "Up": "Up", "Down": "Down", "Left": "Left", "Right": "Right"}
    names |= {"Plus": "+", "Add": "+", "Minus": "-", "Subtract": "-", "Period": ".", "Comma": ","}
    names |= {letter: letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"}
    names |= {f"F{number}": f"F{number}" for number in range(1, 13)}
    return {getattr(dpg, f"mvKey_{code}"): name for code, name in names.items()}


class Picker(Protocol):
    """A list that a person goes through with the arrows, and takes from with Enter, while it is open."""

    @property
    def is_open(self) -> bool: ...
    def move(self, by: int) -> None: ...
    def enter(self) -> None: ...


class Keyboard:
    """`typing` says whether a text field is edited; then only actions that allow it are started. Arrows and Enter are first
    of all those of a picker that is open; while there is a question, no other key does anything but Escape."""

    def __init__(
        self,
        actions: Actions,
        search: Search,
        pickers: Sequence[Picker],
        question: Picker,
        typing: Callable[[], bool],
        changes: Mapping[str, str],
    ):
        self._actions, self._search, self._pickers, self._typing = actions, search, (search, *pickers), typing
        self._question = question
        self._keys, self._names = keymap(changes), key_names()
        self.catch: Callable[[str], None] | None = None  # gets the next key press instead, to make it a shortcut
        self.events = 0
        with dpg.handler_registry():
            dpg.add_key_press_handler(callback=self._pressed)

    def rebind(self, changes: Mapping[str, str]) -> None:
        """Shortcuts as the preferences have them now."""
        self._keys = keymap(changes)

    def _pressed(self, sender: int, code: int) -> None:
        self.events += 1
        held = modifiers()
        name = self._names.get(code, "")
        if code == dpg.mvKey_Slash and "Shift" in held:
            name, held = "?", held - {"Shift"}
        if not name:
            return
        if self.catch is not None:
            self.catch(normal("+".join([*held, name])))
            return
        if self._question.is_open:
            self._answer(name)
            return
        if any(picker.is_open and self._picks(picker, name) for picker in self._pickers):
            return
        action = action_for(name, held, self._keys, typing=self._typing())
        if action:
            self._actions.run(action)

    def _answer(self, name: str) -> None:
        if name in ("Left", "Up", "Right", "Down", "Tab"):
            self._question.move(-1 if name in ("Left", "Up") else 1)
        elif name == "Enter":
            self._question.enter()
        elif name == "Escape":
            self._actions.run("cancel")

    def _picks(self, picker: Picker, name: str) -> bool:
        """A picker's own keys; whether the key was one of them."""
        if name in ("Up", "Down"):
            picker.move(1 if name == "Down" else -1)
        elif name == "Enter":
            picker.enter()
        elif picker is self._search and name in ("Escape", "Tab"):
            self._search.close()
        else:
            return False
        return True
