"""What the file dialog lists and what a typed name means. `listed` may be slow (network drives): not for the window's thread."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_ITEMS = 3000
LONGEST_SLUG = 60  # letters
KIB = 1024.0
GO, TAKE, MISSING, OVERWRITE, NOTHING = "go", "take", "missing", "overwrite", ""
FOLDER, FILE, OTHER = "folder", "file", "other"


@dataclass(frozen=True)
class Item:
    """A line of the list."""

    name: str
    is_folder: bool
    size_bytes: int = 0
    changed_at: float = 0.0  # seconds since the epoch


def listed(folder: Path, endings: Sequence[str] = ()) -> list[Item]:
    """Folders, then files with one of the endings (all, if none is given), by name; hidden ones are left out. Raises OSError."""
    found: list[Item] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            try:
                is_folder = entry.is_dir()
                known = entry.stat()
            except OSError:  # a link to nowhere, or gone meanwhile
                continue
            if is_folder or not endings or entry.name.lower().endswith(tuple(endings)):
                found.append(Item(entry.name, is_folder, known.st_size, known.st_mtime))
    return sorted(found, key=lambda item: (not item.is_folder, item.name.lower()))[:MAX_ITEMS]


def meaning(folder: Path, typed: str, endings: Sequence[str], *, saving: bool) -> tuple[str, Path]:
    """What Enter does with a typed name: GO to a folder, TAKE the file, or say that it is MISSING; ask before OVERWRITE.

    What is to be saved gets the first ending, unless it has one of them.
    """
    path = typed_path(typed, folder)
    if not typed.strip():
        return NOTHING, folder
    if _kind(path) == FOLDER:
        return GO, path
    has_ending = path.name.lower().endswith(tuple(endings)) if endings else True
    if not saving:
        if _kind(path) != FILE and not has_ending:
            path = path.with_name(path.name + endings[0])
        return (TAKE if _kind(path) == FILE else MISSING), path
    if not has_ending:
        path = path.with_name(path.name + endings[0])
    if _kind(path.parent) != FOLDER:
        return MISSING, path.parent
    return (OVERWRITE if _kind(path) else TAKE), path


def _kind(path: Path) -> str:
    """FOLDER, FILE, OTHER, or "" where there is nothing, or can be nothing: a name may be too long, or of no Unicode."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return ""
    return FOLDER if stat.S_ISDIR(mode) else FILE if stat.S_ISREG(mode) else OTHER


def typed_path(typed: str, folder: Path) -> Path:
    """A path as a person writes it, from a folder. "~" is a home; of a user that there is not, it is a name like others."""
    path = Path(typed.strip().replace("\0", ""))
    with contextlib.suppress(RuntimeError):
        path = path.expanduser()
    return folder / path


def slug(name: str) -> str:
    """A name as a file may be called everywhere: "Digits, LeNet-5" is digits-lenet-5. "" where nothing is left of it."""
    return re.sub(r"[^\w]+", "-", name.lower())[:LONGEST_SLUG].strip("-_")


def size_text(size_bytes: int) -> str:
    """Of a file, as people read it."""
    size, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if size < KIB:
            break
        size, unit = size / KIB, larger
    return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"


def time_text(at: float, now: float | None = None) -> str:
    """Today's times by the clock, others by the day."""
    then, today = time.localtime(at), time.localtime(time.time() if now is None else now)
    if then[:3] == today[:3]:
        return time.strftime("%H:%M", then)
    return time.strftime("%d %b" if then.tm_year == today.tm_year else "%d %b %Y", then)
