"""All texts of the studio, by key: the table english.json. A translation is such a file; what it lacks stays English."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

ENGLISH: Mapping[str, str] = json.loads(Path(__file__).with_name("english.json").read_text(encoding="utf-8"))

_current: Mapping[str, str] = ENGLISH


def text(key: str, **values: object) -> str:
    """The text with its values filled in. An unknown key is shown as it is, so that a slip is seen and nothing breaks."""
    template = _current.get(key) or ENGLISH.get(key, key)
    return template.format(**values) if values else template


def foreign_letters() -> frozenset[str]:
    """Letters of the texts of now that no English one has."""
    return frozenset("".join(_current.values())) - frozenset("".join(ENGLISH.values()))


def use(table: Mapping[str, str]) -> None:
    """Texts of another language from now on; raises ValueError naming keys that there are not."""
    unknown = sorted(set(table) - set(ENGLISH))
    if unknown:
        raise ValueError(f"unknown keys: {', '.join(unknown)}")
    global _current
    _current = {**ENGLISH, **table}
