"""Icons of the window by what they stand for: letters of the studio's own font, whose outlines are Font Awesome 4.7's.

An icon used here must be in the font file: `assets/fonts/build.py` puts in what this table names.
"""

from __future__ import annotations

from collections.abc import Mapping

ICONS: Mapping[str, str] = {
    # files
    "new": "\uf15b", "open": "\uf07c", "save": "\uf0c7", "save_as": "\uf0c5", "export_python": "\uf121",
    "export_weights": "\uf1c0",
    "export_png": "\uf03e", "quit": "\uf08b", "start": "\uf015", "recent": "\uf017", "example": "\uf0eb", "missing": "\uf127",
    "folder": "\uf07b", "file": "\uf15c", "folder_up": "\uf148", "download": "\uf019", "upload": "\uf093",
    # editing
    "undo": "\uf0e2", "redo": "\uf01e", "cut": "\uf0c4", "copy": "\uf0c5", "paste": "\uf0ea", "duplicate": "\uf24d",
    "delete": "\uf1f8",
    "rename": "\uf040", "edit": "\uf044", "mute": "\uf05e", "freeze": "\uf2dc", "add": "\uf067", "remove": "\uf00d",
    "search": "\uf002",
    "note": "\uf249", "reset_value": "\uf0e2", "frame": "\uf096", "collapse": "\uf066", "expand": "\uf065", "enter": "\uf149",
    "leave": "\uf148", "layout": "\uf0e8", "magnet": "\uf076", "lock": "\uf023", "unlock": "\uf09c",
    # view
    "commands": "\uf120", "help": "\uf059", "fit": "\uf0b2", "zoom_in": "\uf00e", "zoom_out": "\uf010", "eye": "\uf06e",
    "eye_off": "\uf070", "map": "\uf279", "preferences": "\uf013", "panel": "\uf2d0", "keyboard": "\uf11c",
    "language": "\uf1ab",
    "list": "\uf03a", "table": "\uf0ce", "bars": "\uf0c9", "more": "\uf142", "left": "\uf053", "right": "\uf054",
    "up": "\uf077",
    "down": "\uf078", "check": "\uf00c", "circle": "\uf111", "star": "\uf005", "external": "\uf08e", "refresh": "\uf021",
    # training
    "run": "\uf04b", "pause": "\uf04c", "step": "\uf051", "stop": "\uf04d", "reset": "\uf049", "checkpoint": "\uf02e",
    "chart": "\uf201", "histogram": "\uf080", "image": "\uf03e", "device": "\uf2db", "clock": "\uf017", "fire": "\uf06d",
    "bolt": "\uf0e7", "memory": "\uf1c0", "flask": "\uf0c3", "bug": "\uf188", "spinner": "\uf110", "code": "\uf121",
    "tune": "\uf1de",
    # state
    "error": "\uf057", "warning": "\uf071", "info": "\uf05a", "good": "\uf058", "node": "\uf1b2", "nodes": "\uf1b3",
    "wire": "\uf1e0",
}  # fmt: skip


def icon(name: str) -> str:
    """The letter that draws an icon. A name that there is none of is a fault of the caller: KeyError."""
    return ICONS[name]


def labelled(name: str, words: str) -> str:
    """An icon before words, as buttons and menus show it; words alone where there is no icon of that name."""
    return f"{ICONS[name]}  {words}" if name in ICONS else words
