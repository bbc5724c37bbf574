"""What a person says of a run: its name, a note, and whether it is kept for good. One small file in the run's folder."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from munet import ProjectError, parse_json, read_file, write_file

FILE = "label.json"
MAX_BYTES = 2**16
LONGEST_NAME = 80


@dataclass(frozen=True)
class Label:
    """`name` in place of the date; a `pinned` run is only deleted by hand."""

    name: str = ""
    note: str = ""
    pinned: bool = False


NONE = Label()


def read_label(folder: Path) -> Label:
    """NONE where there is no such file, or one that cannot be read: a run is worth more than its label."""
    if not (folder / FILE).is_file():
        return NONE
    try:
        known = parse_json(read_file(folder / FILE, MAX_BYTES))
    except ProjectError:
        return NONE
    if not isinstance(known, dict):
        return NONE
    words = {key: known[key] for key in ("name", "note") if isinstance(known.get(key), str)}
    return Label(**words, pinned=known.get("pinned") is True)


def write_label(folder: Path, label: Label) -> None:
    """Raises ProjectError."""
    write_file(folder / FILE, (json.dumps(asdict(label), indent=2, ensure_ascii=False) + "\n").encode())
