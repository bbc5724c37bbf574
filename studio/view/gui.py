"""Dear PyGui, wrapped once: the module as `dpg`, and whether a window can be opened at all.

Its calls take and give loosely typed values, so it is `Any` here; nothing outside `studio.view` imports this.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

from munet import has_display
from studio.texts import text

dpg: Any = importlib.import_module("dearpygui.dearpygui")

Tag = int | str
FLOATING: dict[str, bool] = {"no_saved_settings": True, "no_docking": True}  # of windows that are no panels
Callback = Callable[..., Any]


def why_no_window() -> str:
    """ "" if a window can be opened, else why not. Without a display GLFW would abort the process."""
    if not has_display():
        return text("view.no_display")
    return "" if not sys.platform.startswith("linux") or _display_answers() else text("view.no_answer")


def _display_answers() -> bool:
    try:
        x11 = ctypes.CDLL("libX11.so.6")
    except OSError:  # GLFW loads it by the same name
        return False
    x11.XOpenDisplay.restype, x11.XCloseDisplay.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    display = x11.XOpenDisplay(None)
    if display:
        x11.XCloseDisplay(display)
    return bool(display)


def is_typing(inputs: Iterable[Tag]) -> bool:
    """Whether one of these inputs is being edited: shortcuts of letters must not run then."""
    return any(dpg.does_item_exist(item) and dpg.is_item_active(item) for item in inputs)


_held = [frozenset[str]()]  # at the end of the last frame: input is one for the process, as Dear PyGui is


def modifiers() -> frozenset[str]:
    """Modifier keys of the press that has just come in, by the names that the keyboard map uses.

    A short Ctrl+F may arrive with the release of Ctrl in the very frame of the F: what was held a frame ago counts as well.
    """
    return _held[0] | _held_now()


def end_frame() -> None:
    """Once a frame, when its presses have been heard of."""
    _held[0] = _held_now()


def _held_now() -> frozenset[str]:
    down = dpg.is_key_down
    pairs = (
        ("Ctrl", dpg.mvKey_LControl, dpg.mvKey_RControl),
        ("Shift", dpg.mvKey_LShift, dpg.mvKey_RShift),
        ("Alt", dpg.mvKey_LAlt, dpg.mvKey_RAlt),
    )
    return frozenset(name for name, left, right in pairs if down(left) or down(right))


def clear(container: Tag) -> None:
    """Delete what a container holds."""
    dpg.delete_item(container, children_only=True)


def is_under_mouse(window: Tag) -> bool:
    """Whether the mouse is over a window, whatever of what it holds is hovered."""
    x, y = dpg.get_mouse_pos(local=False)
    left, top = dpg.get_item_pos(window)
    return left <= x < left + dpg.get_item_width(window) and top <= y < top + dpg.get_item_height(window)


def is_double_click() -> bool:
    """Whether the left button has just been pressed for the second time."""
    return bool(dpg.is_mouse_button_double_clicked(0))
