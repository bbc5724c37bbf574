"""The preferences as a window: each change takes effect at once, or says when it will. Escape closes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from studio import languages
from studio.icons import icon
from studio.keys import ACTIONS, BY_NAME, conflict, shortcuts
from studio.preferences import LIMITS, Preferences
from studio.texts import text
from studio.view import theme
from studio.view.core import Core
from studio.view.gui import FLOATING, Tag, clear, dpg
from studio.view.keyboard import Keyboard

WIDTH, HEIGHT, LABEL = 680, 520, 210
SCALES = ("0.75", "1", "1.25", "1.5", "2")
NOT_BOUND = ("cancel",)
NOTHING: Mapping[str, object] = {}


class Settings:
    """`changed` is called after each change, with the preferences before it."""

    def __init__(self, core: Core, keyboard: Keyboard, changed: Callable[[Preferences], None]):
        self._core, self._keyboard, self._changed = core, keyboard, changed
        self._caught_for = ""  # the action whose shortcut is asked for
        self._taken = ""  # a shortcut of another action that was pressed once
        self.fields: dict[str, Tag] = {}
        self.keys: dict[str, Tag] = {}  # buttons, by action
        self.inputs: set[Tag] = set()
        self._bar: Tag = 0
        self._sections: dict[Tag, str] = {}  # by tab
        self.window: Tag = dpg.add_window(
            label=text("action.preferences").rstrip("."), show=False, no_resize=True, no_collapse=True, on_close=self.close,
            **FLOATING,
        )  # fmt: skip

    @property
    def is_open(self) -> bool:
        return bool(dpg.is_item_shown(self.window))

    @property
    def place(self) -> str:
        """The section that is in front; "" while the window is closed."""
        return self._sections.get(dpg.get_value(self._bar), "look") if self.is_open else ""

    def toggle(self) -> None:
        if self.is_open:
            self.close()
        else:
            self.open()

    def open(self, section: str = "") -> None:
        """With a section in front: a name of `place`."""
        width = min(theme.px(WIDTH), dpg.get_viewport_client_width() - 20)
        height = min(theme.px(HEIGHT), dpg.get_viewport_client_height() - theme.px(60))
        room = dpg.get_viewport_client_width() - width, dpg.get_viewport_client_height() - height
        place = [max(0, room[0] // 2), max(theme.px(30), room[1] // 2)]
        self._build()
        if section:
            dpg.set_value(self._bar, next(tab for tab, name in self._sections.items() if name == section))
        dpg.configure_item(self.window, show=True, width=width, height=height, pos=place)
        dpg.focus_item(self.window)

    def close(self) -> None:
        self._keyboard.catch = None
        dpg.hide_item(self.window)

    def _build(self) -> None:
        clear(self.window)
        for known in (self.fields, self.inputs, self._sections):
            known.clear()
        with dpg.tab_bar(parent=self.window) as self._bar:
            for name, fill in (("look", self._look), ("canvas", self._canvas), ("work", self._work)):
                with (
                    dpg.tab(label=text(f"settings.{name}")) as tab,
                    dpg.child_window(border=False),
                    dpg.table(header_row=False, policy=dpg.mvTable_SizingFixedFit),
                ):
                    dpg.add_table_column(width_fixed=True, init_width_or_weight=theme.px(LABEL))
                    dpg.add_table_column(width_stretch=True)
                    fill()
                self._sections[tab] = name
            with dpg.tab(label=text("settings.keys")) as tab:
                self._sections[tab] = "keys"
                self._key_rows(tab)

    # -- sections ------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        known = self._core.preferences
        self._row("ui_scale", dpg.add_combo, items=list(SCALES), default_value=f"{known.ui_scale:g}", take=float)
        self._row(
            "language",
            dpg.add_combo,
            items=list(languages.available()),
            default_value=known.language,
            facts={"folder": languages.folder()},
        )
        self._row("cjk_font", dpg.add_input_text, default_value=known.cjk_font, hint=text("settings.of_the_system"))

    def _canvas(self) -> None:
        known = self._core.preferences
        self._row("snap", dpg.add_checkbox, default_value=known.snap)
        self._number("grid", known.grid)
        self._row("show_minimap", dpg.add_checkbox, default_value=known.show_minimap)
        self._row("show_shapes", dpg.add_checkbox, default_value=known.show_shapes)

    def _work(self) -> None:
        known = self._core.preferences
        self._row("keep_runs", dpg.add_checkbox, default_value=known.keep_runs)
        self._number("runs_kept", known.runs_kept)
        self._number("checkpoint_every_s", known.checkpoint_every_s)
        self._number("autosave_every_s", known.autosave_every_s)
        self._row("editor", dpg.add_input_text, default_value=known.editor, hint="$EDITOR")

    def _number(self, name: str, value: float) -> None:
        low, high = LIMITS[name]
        limits = {"min_value": int(low), "max_value": int(high), "min_clamped": True, "max_clamped": True}
        self._row(name, dpg.add_input_int, default_value=round(value), take=float, **limits)

    def _row(
        self,
        name: str,
        add: Callable[..., Tag],
        *,
        take: Callable[[Any], Any] | None = None,
        facts: Mapping[str, object] = NOTHING,
        **how: Any,
    ) -> None:
        def changed(sender: Tag, given: Any) -> None:
            self.set(name, take(given) if take is not None else given)

        if add is not dpg.add_checkbox:
            how["width"] = theme.px(260)
        with dpg.table_row():
            label = dpg.add_text(text(f"settings.{name}"))
            self.fields[name] = field = add(callback=changed, **how)
        for item in (label, field):
            theme.tip(item, text(f"settings.{name}.about", **facts))
        self.inputs.add(field)

    def set(self, name: str, value: Any) -> None:
        """One setting; the rest of the window learns of it."""
        before = self._core.preferences
        self._core.preferences = replace(before, **{name: value})
        self._changed(before)

    # -- shortcuts -----------------------------------------------------------------------------------------------------

    def _key_rows(self, tab: Tag) -> None:
        self.keys.clear()
        self._key_note: Tag = dpg.add_text(text("settings.keys.about"), parent=tab, color=theme.DIM, wrap=theme.px(WIDTH - 30))
        with (
            dpg.child_window(parent=tab, border=False),
            dpg.table(header_row=False, policy=dpg.mvTable_SizingFixedFit, row_background=True),
        ):
            dpg.add_table_column(width_stretch=True)
            dpg.add_table_column(width_fixed=True, init_width_or_weight=theme.px(230))
            dpg.add_table_column(width_fixed=True, init_width_or_weight=theme.px(40))
            for action in ACTIONS:
                if action.name not in NOT_BOUND:
                    with dpg.table_row():
                        dpg.add_text(f"{text(f'group.{action.group}')}: {action.title}")
                        self.keys[action.name] = dpg.add_button(label="", width=-1, callback=partial(self.ask, action.name))
                        theme.tip(self.keys[action.name], text("settings.keys.press_tip"))
                        usual = dpg.add_button(label=icon("reset_value"), callback=partial(self._usual, action.name))
                        theme.tip(usual, text("settings.keys.usual"))
        self._show_keys()

    def _show_keys(self) -> None:
        known = shortcuts(self._core.preferences.keys)
        for name, button in self.keys.items():
            words = "     ".join(known.get(name, ())) or "-"
            dpg.configure_item(button, label=text("settings.keys.press") if name == self._caught_for else words)

    def ask(self, name: str) -> None:
        """The next key press becomes the shortcut of an action."""
        self._caught_for, self._taken = name, ""
        self._keyboard.catch = self._caught
        self._show_keys()

    def _caught(self, shortcut: str) -> None:
        """The key press for the action: Escape leaves it, Backspace takes the shortcut away, a taken one is asked about."""
        name, known = self._caught_for, self._core.preferences.keys
        if shortcut == "Escape":
            self._bind(name, None)
            return
        if shortcut == "Backspace":
            self._bind(name, "")
            return
        other = conflict(name, shortcut, known)
        if other and self._taken != shortcut:
            self._taken = shortcut
            words = text("settings.keys.taken", keys=shortcut, name=BY_NAME[other].title)
            dpg.set_value(self._key_note, words)
            dpg.configure_item(self._key_note, color=theme.HOT)
            return
        if other and other in known:
            self._core.preferences = replace(self._core.preferences, keys={**known, other: ""})
        self._bind(name, shortcut)

    def _bind(self, name: str, shortcut: str | None) -> None:
        """None changes nothing."""
        self._keyboard.catch = None
        self._caught_for = ""
        if shortcut is not None:
            self.set("keys", {**self._core.preferences.keys, name: shortcut})
        dpg.set_value(self._key_note, text("settings.keys.about"))
        dpg.configure_item(self._key_note, color=theme.DIM)
        self._show_keys()

    def _usual(self, name: str) -> None:
        keys = {other: key for other, key in self._core.preferences.keys.items() if other != name}
        self.set("keys", keys)
        self._bind("", None)
