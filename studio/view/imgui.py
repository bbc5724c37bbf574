"""Dear ImGui inside Dear PyGui, for what Dear PyGui does not hand on: another layout of the docked windows while they are there,
the colours of their tabs, which no theme reaches (its issues 805 and 2659), a clipboard without text, and closing menus.

The Linux build of Dear PyGui shows Dear ImGui's own functions. Elsewhere `is_there` is False: tabs keep the colours they have,
a layout is taken up at the next start, only what the studio copied can be pasted, and Escape does not close a menu. Call all of
them between frames.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

FUNCTIONS = {
    "load": ("_ZN5ImGui25LoadIniSettingsFromMemoryEPKcm", None, (ctypes.c_char_p, ctypes.c_size_t)),
    "name": ("_ZN5ImGui17GetStyleColorNameEi", ctypes.c_char_p, (ctypes.c_int,)),
    "clipboard": ("_ZN5ImGui16GetClipboardTextEv", ctypes.c_char_p, ()),
    "color": ("_ZN5ImGui17GetStyleColorVec4Ei", ctypes.POINTER(ctypes.c_float * 4), (ctypes.c_int,)),
    "is_open": ("_ZN5ImGui11IsPopupOpenEji", ctypes.c_bool, (ctypes.c_uint, ctypes.c_int)),
    "close": ("_ZN5ImGui23ClosePopupsExceptModalsEv", None, ()),
}
MOST_COLORS = 200
ANY_POPUP = 1 << 10 | 1 << 11  # of any name, at any level


@cache
def _functions() -> Mapping[str, Any] | None:
    try:
        library = ctypes.CDLL(importlib.import_module("dearpygui._dearpygui").__file__)
        found = {name: getattr(library, symbol) for name, (symbol, _, _) in FUNCTIONS.items()}
    except (AttributeError, OSError):
        return None
    for name, (_, result, takes) in FUNCTIONS.items():
        found[name].restype, found[name].argtypes = result, takes
    return found


def is_there() -> bool:
    return _functions() is not None


def load_layout(layout: str) -> bool:
    """Lay the windows as a layout file has them; whether that is possible here."""
    functions = _functions()
    if functions is None:
        return False
    content = layout.encode()
    functions["load"](content, len(content))
    return True


def clipboard_text() -> str:
    """The text in the system's clipboard; "" where it is empty, or holds a picture. Call only where `is_there`."""
    functions = _functions()
    content = functions["clipboard"]() if functions is not None else None
    return content.decode(errors="replace") if content is not None else ""


def close_menus() -> bool:
    """Close the menu or the list of a combo that is open; whether there was one."""
    functions = _functions()
    if functions is None or not functions["is_open"](0, ANY_POPUP):
        return False
    functions["close"]()
    return True


def set_colors(colors: Mapping[str, tuple[int, int, int] | tuple[int, int, int, int]]) -> bool:
    """The colours of what no theme reaches, by Dear ImGui's names for them; whether that is possible here."""
    functions = _functions()
    if functions is None:
        return False
    names: dict[str, int] = {}
    for index in range(MOST_COLORS):
        name = functions["name"](index).decode()
        if name == "Unknown":
            break
        names[name] = index
    for name, color in colors.items():
        if name in names:  # versions call some of them otherwise
            functions["color"](names[name]).contents[:] = [part / 255 for part in (*color, 255)[:4]]
    return True
