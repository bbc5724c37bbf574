"""What makes the window comfortable, put together: start page, palette of commands, keyboard map, preferences, exports, menus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from munet import ProjectError, bundled_projects
from studio import commander, fonts, languages
from studio import preferences as settings_file
from studio.coloring import MODES
from studio.keys import shortcuts
from studio.preferences import Preferences
from studio.texts import text
from studio.view.actions import Actions
from studio.view.canvas import Canvas
from studio.view.commander import Commander
from studio.view.core import Core
from studio.view.dialogs import Dialogs
from studio.view.exports import Exports
from studio.view.gui import Tag, dpg
from studio.view.keyboard import Keyboard
from studio.view.keymap import KeyboardMap
from studio.view.machine import show_node
from studio.view.menus import Menus
from studio.view.palette import Palette
from studio.view.panels import FIXED, PANELS, Panels
from studio.view.popup import Popup
from studio.view.searchbox import Search
from studio.view.settings import Settings
from studio.view.startpage import StartPage

SAVE_AFTER_S = 1.0


class Comfort:
    """`typing` says whether a text field is edited, `build_anew` has all that is seen made anew. `keeps`: whether preferences are
    written when they change."""

    def __init__(
        self, core: Core, actions: Actions, canvas: Canvas, dialogs: Dialogs, panels: Panels,
        pickers: tuple[Search, Popup, Palette], typing: Callable[[], bool], font: Tag | None,
        build_anew: Callable[[], None],
    ):  # fmt: skip
        self._core, self._canvas, self._dialogs, self._panels, self._actions = core, canvas, dialogs, panels, actions
        self.keeps, self._build_anew = False, build_anew
        self._kept, self._changed_at = core.preferences, 0.0
        self.exports = Exports(core, dialogs)
        self.start = StartPage(
            core, panels.box("graph"), canvas.plot, font, actions.run, self._open_path, self._open_example,
            lambda: typing() or self.keymap.is_open or self.settings.is_open,
        )  # fmt: skip
        openers = {
            commander.ACTION: actions.run, commander.PANEL: panels.show,
            commander.RECENT: lambda name: self._open_path(Path(name)), commander.EXAMPLE: self._open_example,
            commander.NODE: lambda path: show_node(core, path),
        }  # fmt: skip
        self.commander = Commander(self._choices, openers)
        search, popup, palette = pickers
        others = (popup, self.commander, dialogs.files, palette, self.start)
        self.keyboard = Keyboard(actions, search, others, dialogs.question, typing, core.preferences.keys)
        self.keymap = KeyboardMap(lambda: actions.names, lambda: shortcuts(core.preferences.keys))
        self.settings = Settings(core, self.keyboard, self._preferred)
        actions.provide(
            commands=self.commander.open, help=self.keymap.toggle, preferences=self.settings.toggle, start=self.start.show,
            export_python=self.exports.python, export_png=self.exports.png, export_weights=self.exports.weights,
            reset_layout=self._reset_layout,
        )  # fmt: skip
        switches = {"minimap": lambda: core.preferences.show_minimap, "snap": lambda: core.preferences.snap}
        switches |= {f"color_{mode}": partial(lambda mode: canvas.heat.mode == mode, mode) for mode in MODES}
        self.menus = Menus(actions, panels, switches)

    def sync(self, now: float) -> None:
        """Once a frame."""
        for part in (self.exports, self.start, self.commander, self.keymap, self.menus, self._dialogs):
            part.sync()
        if self._core.preferences is not self._kept:
            self._kept, self._changed_at = self._core.preferences, now
        elif self._changed_at and now - self._changed_at > SAVE_AFTER_S:
            self._changed_at = 0.0
            self.save()

    @property
    def busy(self) -> bool:
        """Whether something is about to change without the person's doing."""
        return self.exports.busy or self.start.busy or self._dialogs.busy or (self.keeps and self._changed_at > 0)

    @property
    def inputs(self) -> set[Tag]:
        """Fields that take letters while they are edited."""
        return {self.commander.input, self.keymap.input, *self.settings.inputs, *self._dialogs.files.inputs}

    @property
    def opened(self) -> tuple[bool, ...]:
        """Which of the windows are open."""
        return self.commander.is_open, self.keymap.is_open, self.settings.is_open, self.start.is_shown

    def cancel(self) -> bool:
        """Escape: close what is in front; whether anything was."""
        for window in (self.commander, self.keymap, self.settings):
            if window.is_open:
                window.close()
                return True
        return self.start.hide()

    def save(self) -> None:
        """Write the preferences, if they are to be kept."""
        if self.keeps:
            try:
                settings_file.save(self._core.preferences)
            except ProjectError as error:
                self._core.say(str(error), error=True)

    # -- what is chosen ------------------------------------------------------------------------------------------------

    def _choices(self) -> tuple[commander.Choice, ...]:
        known = self._core.preferences
        panels = [(panel.name, panel.title) for panel in PANELS if panel.name not in FIXED]
        keys = shortcuts(known.keys)
        return commander.choices(
            self._core.document.graph, self._actions.names, keys, panels, known.recent, bundled_projects()
        )  # fmt: skip

    def _open_path(self, path: Path) -> None:
        self._actions.unless_unsaved(lambda: self._actions.open_path(path))

    def _open_example(self, name: str) -> None:
        self._actions.unless_unsaved(lambda: self._actions.open_example(name))

    def _reset_layout(self) -> None:
        at_once = self._panels.lay_as_first(self._core.preferences.ui_scale)
        self._core.say(text("view.layout_reset" if at_once else "view.layout_reset_later"))

    def _preferred(self, before: Preferences) -> None:
        """Let a changed preference take effect."""
        if (self._core.preferences.language, self._core.preferences.cjk_font) != (before.language, before.cjk_font):
            self._use_language(before.language)
        now = self._core.preferences
        if (now.ui_scale, now.language, now.cjk_font) != (before.ui_scale, before.language, before.cjk_font):
            self._build_anew()
        if (now.snap, now.grid) != (before.snap, before.grid):
            self._core.tool.snap = now.grid if now.snap else 0.0
        if now.show_shapes != before.show_shapes:
            self._core.stale_wires |= self._core.scene.wires.keys()
        if now.keys != before.keys:
            self.keyboard.rebind(now.keys)

    def _use_language(self, before: str) -> None:
        """That of the preferences; where its file cannot be read, they go back to the one before, or to English."""
        core = self._core
        outcome = languages.use(core.preferences.language, cjk_font=core.preferences.cjk_font)
        if outcome.refused:
            again = languages.use(before, cjk_font=core.preferences.cjk_font)
            core.preferences = replace(core.preferences, language=languages.ENGLISH if again.refused else before)
        tell_language(core, outcome)
        tell_font(core)


def tell_font(core: Core) -> None:
    """Why the font that the preferences name is not used, if it is not."""
    name = core.preferences.cjk_font
    why = fonts.why_not(name)
    if why:
        core.say(text("view.no_font", name=name, why=why), error=True)


def tell_language(core: Core, outcome: languages.Outcome) -> None:
    """What is wrong with a translation: all of it in the log, in short in the status line."""
    if outcome.refused:
        core.say(outcome.refused, error=True)
    elif outcome.remarks:
        for remark in outcome.remarks[:-1]:
            core.log.add(remark, True)
        core.say(outcome.remarks[-1], error=True)


def geometry() -> tuple[int, ...]:
    """Where the window is and how large: x, y, width, height."""
    x, y = dpg.get_viewport_pos()
    return round(x), round(y), dpg.get_viewport_width(), dpg.get_viewport_height()
