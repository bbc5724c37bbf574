"""The system's clipboard. Dear PyGui's own reader ends the process where the clipboard holds no text: nothing else may call it.

Where Dear ImGui cannot be asked (see `imgui.py`), what the studio itself copied last is given.
"""

from __future__ import annotations

from studio.view import imgui
from studio.view.gui import dpg

_copied = ""


def copy(words: str) -> None:
    """Put a text into the clipboard, up to a zero character if it has one."""
    global _copied
    _copied = words
    dpg.set_clipboard_text(words)


def copied() -> str:
    """The text in the clipboard, "" where there is none."""
    return imgui.clipboard_text() if imgui.is_there() else _copied
