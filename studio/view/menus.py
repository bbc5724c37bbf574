"""The menu bar: the actions that there are, by their groups, with the shortcuts they have now; check marks for what is on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from munet import bundled_projects
from studio.keys import ACTIONS, BY_NAME, shortcuts
from studio.texts import label, text
from studio.view import theme
from studio.view.actions import Actions
from studio.view.gui import Tag, clear, dpg
from studio.view.panels import FIXED, PANELS, Panels

EXPORTS = ("export_python", "export_weights", "export_png")
FILE = (("new", "open"), ("save", "save_as"), EXPORTS, ("start", "preferences"), ("quit",))


class Menus:
    """`switches`: actions that turn something on or off, with what says whether it is on."""

    def __init__(self, actions: Actions, panels: Panels, switches: Mapping[str, Callable[[], bool]]):
        self._actions, self._panels, self._switches = actions, panels, switches
        self._seen_recent: tuple[str, ...] | None = None
        self._seen_keys: object = None
        self._marks: dict[Tag, Callable[[], bool]] = {}
        self._marked: tuple[bool, ...] = ()
        self.items: dict[str, Tag] = {}  # by action
        with dpg.viewport_menu_bar() as self.bar:
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
            if name in self._actions.names and not BY_NAME[name].hidden:
                switch = self._switches.get(name)
                self.items[name] = item = dpg.add_menu_item(
                    label=BY_NAME[name].title, check=switch is not None, callback=partial(self._run, name)
                )
                if switch is not None:
                    self._marks[item] = switch

    def _run(self, name: str) -> None:
        self._actions.run(name)
        self._marked = ()  # the click has turned the mark itself

    def _panel_menu(self) -> None:
        dpg.add_separator()
        for panel in PANELS:
            if panel.name not in FIXED:
                item = dpg.add_menu_item(label=panel.title, check=True, callback=partial(self._toggle, panel.name))
                self._marks[item] = partial(dpg.is_item_shown, self._panels.box(panel.name))
                self.items[f"panel {panel.name}"] = item

    def _toggle(self, name: str) -> None:
        self._panels.toggle(name)
        self._marked = ()

    def _file_menu(self) -> None:
        for place, names in enumerate(FILE):
            if place:
                dpg.add_separator()
            self._items(names)
            if not place:
                with dpg.menu(label=text("view.recent")) as self._recent:
                    pass
                with dpg.menu(label=text("view.examples")):
                    for name in bundled_projects():
                        then = partial(self._actions.open_example, name)
                        dpg.add_menu_item(label=name, callback=partial(self._actions.unless_unsaved, then))

    def sync(self) -> None:
        """Bring recent projects, shortcuts and check marks up to date."""
        known = self._actions.core.preferences
        if known.keys != self._seen_keys:
            self._seen_keys = known.keys
            keys = shortcuts(known.keys)
            for name, item in self.items.items():
                if name in BY_NAME:
                    dpg.configure_item(item, shortcut=(keys.get(name) or ("",))[0])
        marks = tuple(bool(is_on()) for is_on in self._marks.values())
        if marks != self._marked:
            self._marked = marks
            for item, is_on in zip(self._marks, marks, strict=True):
                dpg.set_value(item, is_on)
        if known.recent != self._seen_recent:
            self._seen_recent = known.recent
            self._list_recent(known.recent)

    def _list_recent(self, recent: tuple[str, ...]) -> None:
        box: Tag = self._recent
        clear(box)
        for name in recent:
            then = partial(self._actions.open_path, Path(name))
            item = dpg.add_menu_item(label=label(name), parent=box, callback=partial(self._actions.unless_unsaved, then))
            theme.dress(item, name)
        if not recent:
            dpg.add_menu_item(label=text("view.none"), parent=box, enabled=False)
