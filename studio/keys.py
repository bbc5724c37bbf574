"""The keyboard map as data: actions with their group and shortcut. Menus, the command palette and the `?` sheet are made from it.

A shortcut is written "Ctrl+Shift+Z"; keys are called by their letters, or one of NAMED. Which key code that is, the view knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from studio.coloring import MODES
from studio.texts import text

MODIFIERS = ("Ctrl", "Shift", "Alt")
NAMED = (
    "Tab", "Delete", "Backspace", "Escape", "Enter", "Space", "Home", "End", "Up", "Down", "Left", "Right",
    "?", "+", "-", ".", ",",
    *(f"F{number}" for number in range(1, 13)),
)  # fmt: skip


@dataclass(frozen=True)
class Action:
    """Something a key, a menu or the command palette can start. `typing`: also while a text field is edited; `hidden`: not in
    menus."""

    name: str
    group: str
    shortcuts: tuple[str, ...] = ()
    typing: bool = False
    hidden: bool = False

    @property
    def title(self) -> str:
        return text(f"action.{self.name}")


ACTIONS = (
    Action("new", "file", ("Ctrl+N",), typing=True),
    Action("open", "file", ("Ctrl+O",), typing=True),
    Action("save", "file", ("Ctrl+S",), typing=True),
    Action("save_as", "file", ("Ctrl+Shift+S",), typing=True),
    Action("export_python", "file"),
    Action("export_weights", "file"),
    Action("export_png", "file"),
    Action("start", "file"),
    Action("preferences", "file", ("Ctrl+,",), typing=True),
    Action("quit", "file", ("Ctrl+Q",), typing=True),
    Action("undo", "edit", ("Ctrl+Z",)),
    Action("redo", "edit", ("Ctrl+Y", "Ctrl+Shift+Z")),
    Action("cut", "edit", ("Ctrl+X",)),
    Action("copy", "edit", ("Ctrl+C",)),
    Action("paste", "edit", ("Ctrl+V",)),
    Action("duplicate", "edit", ("Ctrl+D",)),
    Action("duplicate_wired", "edit", ("Ctrl+Shift+D",)),
    Action("delete", "edit", ("Delete", "X")),
    Action("delete_bridged", "edit", ("Ctrl+Delete", "Ctrl+Backspace")),
    Action("select_all", "edit", ("Ctrl+A",)),
    Action("rename", "edit", ("F2",)),
    Action("mute", "edit", ("M",)),
    Action("freeze", "edit", ("Shift+M",)),
    Action("join", "edit", ("J",)),
    Action("unwire", "edit", ("Shift+J",)),
    Action("add", "edit", ("Tab",)),
    Action("palette", "edit", ("Shift+A",)),
    Action("cancel", "edit", ("Escape",), typing=True, hidden=True),
    Action("frame", "arrange", ("Ctrl+F",)),
    Action("collapse", "arrange", ("Ctrl+G",)),
    Action("expand", "arrange", ("Ctrl+Shift+G",)),
    Action("enter", "arrange", ("Enter",)),
    Action("leave", "arrange", ("Backspace",)),
    Action("rename_subgraph", "arrange", ("Shift+F2",)),
    Action("delete_unused", "arrange"),
    Action("save_block", "arrange"),
    Action("layout", "arrange", ("L",)),
    Action("align_left", "arrange", ("Alt+Left",)),
    Action("align_right", "arrange", ("Alt+Right",)),
    Action("align_top", "arrange", ("Alt+Up",)),
    Action("align_bottom", "arrange", ("Alt+Down",)),
    Action("align_center", "arrange"),
    *(Action(f"nudge_{way.lower()}", "arrange", (way,), hidden=True) for way in ("Left", "Right", "Up", "Down")),
    Action("distribute_x", "arrange", ("Alt+H",)),
    Action("distribute_y", "arrange", ("Alt+V",)),
    Action("snap", "arrange", ("Alt+S",)),
    Action("commands", "view", ("Ctrl+P",), typing=True),
    Action("help", "view", ("?", "F1")),
    Action("fit_all", "view", ("Home", "A")),
    Action("fit_selection", "view", (".", "F")),
    Action("zoom_in", "view", ("Ctrl++",)),
    Action("zoom_out", "view", ("Ctrl+-",)),
    Action("zoom_reset", "view", ("Ctrl+0",)),
    Action("minimap", "view", ("Ctrl+M",)),
    *(Action(f"color_{mode}", "view", (f"Alt+{key}",)) for key, mode in enumerate(MODES, 1)),
    Action("reset_layout", "view"),
    Action("show_preview", "view", ("P",)),
    Action("show_values", "view", ("V",)),
    Action("show_shaders", "view", ("Ctrl+Shift+H",)),
    Action("next_problem", "view", ("F8",), typing=True),
    Action("run", "train", ("F5",), typing=True),
    Action("pause", "train", ("F6", "Space")),
    Action("step", "train", ("F10",), typing=True),
    Action("stop", "train", ("Shift+F5",), typing=True),
    Action("reset", "train", ("Ctrl+Shift+F5",), typing=True),
    Action("checkpoint", "train", ("Ctrl+K",), typing=True),
    Action("step_many", "train", ("Shift+F10",), typing=True),
    Action("evaluate", "train", ("F9",), typing=True),
    Action("resume_last", "train", ("Ctrl+Shift+K",)),
    Action("overlay_last", "train"),
    Action("next_device", "train"),
    Action("plot_log", "train"),
    Action("plot_follow", "train"),
    Action("export_plot_png", "train"),
    Action("export_csv", "train"),
    Action("measure", "inside", ("F7",), typing=True),
    Action("measure_limits", "inside"),
    Action("next_pass", "inside", ("Ctrl+Down",)),
    Action("previous_pass", "inside", ("Ctrl+Up",)),
    Action("sort_passes", "inside"),
    Action("next_preview", "inside", ("Shift+P",)),
    Action("next_sample", "inside", ("Alt+P",)),
    Action("next_tensor", "inside", ("Shift+V",)),
    Action("next_batch", "inside"),
    Action("copy_tensor", "inside"),
    Action("code_view", "inside"),
    Action("copy_code", "inside"),
    Action("memory_area", "inside"),
    Action("memory_colours", "inside"),
    Action("export_trace", "inside"),
    Action("shader_next", "shaders", ("Alt+.",)),
    Action("shader_previous", "shaders", ("Alt+,",)),
    Action("shader_verify", "shaders"),
    Action("shader_verify_all", "shaders"),
    Action("shader_tune", "shaders"),
    Action("shader_new", "shaders"),
    Action("shader_edit", "shaders", ("Ctrl+E",), typing=True),
    Action("shader_editor", "shaders"),
    Action("shader_use", "shaders"),
    Action("shader_revert", "shaders"),
    Action("shader_forget", "shaders"),
    Action("shader_delete", "shaders"),
)
BY_NAME: Mapping[str, Action] = {action.name: action for action in ACTIONS}


def normal(shortcut: str) -> str:
    """A shortcut with its modifiers in their usual order. Raises ValueError for what is none."""
    text_, plus = (shortcut[:-1], "+") if shortcut.endswith("++") or shortcut == "+" else (shortcut, "")
    parts = [part for part in text_.split("+") if part] + ([plus] if plus else [])
    given = [part.capitalize() for part in parts[:-1]]
    key = parts[-1] if parts else ""
    key = key.upper() if len(key) == 1 else key
    if not key or (len(key) > 1 and key not in NAMED) or any(part not in MODIFIERS for part in given):
        raise ValueError(f"{shortcut!r} is no shortcut")
    return "+".join([*(modifier for modifier in MODIFIERS if modifier in given), key])


def keymap(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Shortcut -> action. `changes` (action -> shortcut, "" for none) go before the usual ones; unfit changes are left out."""
    chosen: dict[str, str] = {}
    changed: set[str] = set()
    for name, shortcut in (changes or {}).items():
        if name not in BY_NAME:
            continue
        try:
            key = normal(shortcut) if shortcut else ""
        except ValueError:
            continue
        changed.add(name)
        if key:
            chosen[key] = name
    for action in ACTIONS:
        for shortcut in action.shortcuts if action.name not in changed else ():
            chosen.setdefault(normal(shortcut), action.name)
    return chosen


def shortcuts(changes: Mapping[str, str] | None = None) -> dict[str, tuple[str, ...]]:
    """Action -> shortcuts that start it, as `keymap` has them; "Tab" before "Shift+A" if it is so in the table."""
    found: dict[str, tuple[str, ...]] = {}
    for key, name in keymap(changes).items():
        found[name] = (*found.get(name, ()), key)
    return found


def with_key(words: str, name: str, changes: Mapping[str, str] | None = None) -> str:
    """Words about an action, and the keys that start it as well."""
    found = shortcuts(changes).get(name, ())
    return f"{words} ({', '.join(found)})" if found else words


def conflict(name: str, shortcut: str, changes: Mapping[str, str] | None = None) -> str:
    """The other action that a shortcut starts already; "" for none. Raises ValueError for what is no shortcut."""
    there = keymap(changes).get(normal(shortcut), "")
    return there if there != name else ""


def action_for(key: str, modifiers: frozenset[str], keys: Mapping[str, str], *, typing: bool = False) -> str:
    """The action of a key press; "" for none, or for one that must not run while a text field is edited."""
    try:
        name = keys.get(normal("+".join([*modifiers, key])), "")
    except ValueError:
        return ""
    return name if name and (not typing or BY_NAME[name].typing) else ""
