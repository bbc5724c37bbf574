"""Key presses to actions, and menus made from the same table of actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from munet import bundled_projects
from studio.keys import ACTIONS, BY_NAME, action_for, keymap
from studio.texts import text
from studio.view.actions import Actions
from studio.view.gui import Tag, clear, dpg, modifiers
from studio.view.palette import Search
from studio.view.panels import FIXED, PANELS, Panels


def key_names() -> dict[int, str]:
    """Dear PyGui's key codes by the names of the keyboard map."""
    names = {"Delete": "Delete", "Back": "Backspace", "Escape": "Escape", "Return": "Enter", "NumPadEnter": "Enter", "Tab": "Tab"}
    names |= {"Spacebar": "Space", "Home": "Home", "End": "End", "Up": "Up", "Down": "Down", "Left": "Left", "Right": "Right"}
    names |= {"Plus": "+", "Add": "+", "Minus": "-", "Subtract": "-", "Period": "."}
    names |= {letter: letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"}
    names |= {f"F{number}": f"F{number}" for number in range(1, 13)}
    return {getattr(dpg, f"mvKey_{code}"): name for code, name in names.items()}


class Keyboard:
    """`typing` says whether a text field is edited; then only actions that allow it are started."""

    def __init__(self, actions: Actions, search: Search, typing: Callable[[], bool], changes: dict[str, str]):
        self._actions, self._search, self._typing = actions, search, typing
        self._keys, self._names = keymap(changes), key_names()
        self.events = 0
        with dpg.handler_registry():
            dpg.add_key_press_handler(callback=self._pressed)

    def _pressed(self, sender: int, code: int) -> None:
        self.events += 1
        held = modifiers()
        name = self._names.get(code, "")
        if code == dpg.mvKey_Slash and "Shift" in held:
            name, held = "?", held - {"Shift"}
        if not name or (self._search.is_open and self._in_search(name)):
            return
        action = action_for(name, held, self._keys, typing=self._typing())
        if action:
            self._actions.run(action)

    def _in_search(self, name: str) -> bool:
        """The search's own keys; whether the key was one of them."""
        match name:
            case "Up" | "Down":
                self._search.move(1 if name == "Down" else -1)
            case "Enter":
                self._search.enter()
            case "Escape" | "Tab":
                self._search.close()
            case _:
                return False
        return True


class Menus:
    """The menu bar. Its entries are the actions that there are, by their groups."""

    def __init__(self, actions: Actions, panels: Panels):
        self._actions, self._panels = actions, panels
        self._seen: tuple[str, ...] | None = None
        with dpg.viewport_menu_bar():
            for group in dict.fromkeys(action.group for action in ACTIONS):
                with dpg.menu(label=text(f"group.{group}")):
                    if group == "file":
                        self._file_menu()
                    else:
                        self._items(action.name for action in ACTIONS if action.group == group)
                    if group == "view":
                        self._panel_menu()

    def _items(self, names: Iterable[str]) -> None:
        for name in names:
            if name in self._actions.names and name != "cancel":
                action = BY_NAME[name]
                shortcut = action.shortcuts[0] if action.shortcuts else ""
                dpg.add_menu_item(label=action.title, shortcut=shortcut, callback=partial(self._actions.run, name))

    def _panel_menu(self) -> None:
        dpg.add_separator()
        for panel in PANELS:
            if panel.name not in FIXED:
                dpg.add_menu_item(label=panel.title, callback=partial(self._panels.toggle, panel.name))

    def _file_menu(self) -> None:
        self._items(("new", "open"))
        with dpg.menu(label=text("view.recent")) as self._recent:
            pass
        with dpg.menu(label=text("view.examples")):
            for name in bundled_projects():
                then = partial(self._actions.open_example, name)
                dpg.add_menu_item(label=name, callback=partial(self._actions.unless_unsaved, then))
        dpg.add_separator()
        self._items(("save", "save_as"))
        dpg.add_separator()
        self._items(("quit",))

    def sync(self) -> None:
        """Bring the list of recent projects up to date."""
        recent = self._actions.core.preferences.recent
        if recent == self._seen:
            return
        self._seen = recent
        box: Tag = self._recent
        clear(box)
        for name in recent:
            then = partial(self._actions.open_path, Path(name))
            dpg.add_menu_item(label=name, parent=box, callback=partial(self._actions.unless_unsaved, then))
        if not recent:
            dpg.add_menu_item(label=text("view.none"), parent=box, enabled=False)
