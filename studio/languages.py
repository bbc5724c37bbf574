"""Translations: one JSON file a language with the keys of `english.json`, in the folder `languages` beside the preferences.

What a file lacks stays English, and so does each text of it that cannot be used, which is told. Only a file that cannot be
read is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from munet import ProjectError, parse_json, read_file
from studio import fonts, texts
from studio.fontmerge import letters_of
from studio.preferences import is_fit, preferences_file
from studio.texts import text

ENGLISH = "en"
MAX_BYTES = 2**20
NAMED = 4  # keys that are told of a longer list


@dataclass(frozen=True)
class Outcome:
    """What came of a language: `refused` says why all of it stays English, `remarks` what of it does."""

    refused: str = ""
    remarks: tuple[str, ...] = ()


def folder() -> Path:
    return preferences_file().with_name("languages")


def available(where: Path | None = None) -> tuple[str, ...]:
    """English, and the names of the files that there are."""
    try:
        found = sorted(file.stem for file in (where or folder()).iterdir() if file.suffix == ".json" and is_fit(file.stem))
    except OSError:
        found = []
    return (ENGLISH, *(name for name in found if name != ENGLISH))


def use(name: str, where: Path | None = None, cjk_font: str = "") -> Outcome:
    """Show texts in that language from now on, as far as its file has them.

    `cjk_font`: as in the preferences, the file for letters that the studio's own font lacks.
    """
    texts.use({})
    if name == ENGLISH:
        return Outcome()
    path = (where or folder()) / f"{name}.json"
    try:
        table = _read(path)
    except ProjectError as error:
        return Outcome(text("language.refused", name=path.name, why="; ".join(problem.found for problem in error.problems)))
    except ValueError as error:
        return Outcome(text("language.refused", name=path.name, why=error))
    usable, faults = _checked(table, cjk_font)
    texts.use(usable)
    return Outcome(remarks=tuple(f"{path.name}: {fault}" for fault in faults))


def _checked(table: Mapping[str, object], cjk_font: str) -> tuple[dict[str, str], list[str]]:
    """The texts that can be shown, and what is wrong with the others."""
    faults: list[str] = []
    unknown = [key for key in table if key not in texts.ENGLISH]
    if unknown:
        faults.append(text("language.unknown", count=len(unknown), keys=_few(unknown)))
    usable: dict[str, str] = {}
    for key, words in table.items():
        if key in unknown:
            continue
        if not isinstance(words, str):
            faults.append(text("language.unusable", name=key, why="it is not a string"))
        elif why := texts.why_unusable(key, words):
            faults.append(text("language.unusable", name=key, why=why))
        else:
            usable[key] = words
    lacking = _lacking(usable.values(), cjk_font)
    boxes = [key for key, words in usable.items() if lacking.intersection(words)]
    if boxes:
        letters = "".join(sorted(lacking)[:8])
        faults.append(text("language.no_font", count=len(boxes), letters=letters, keys=_few(boxes)))
    return {key: words for key, words in usable.items() if key not in frozenset(boxes)}, faults


def _few(keys: list[str]) -> str:
    return ", ".join(keys[:NAMED]) + (", ..." if len(keys) > NAMED else "")


def _lacking(words: Iterable[str], cjk_font: str) -> frozenset[str]:
    """Letters that no font has: there would be boxes."""
    more = fonts.find_cjk(cjk_font)
    known = letters_of(fonts.bundled(fonts.UI)) | (letters_of(more) if more is not None else frozenset())
    return frozenset(letter for letter in "".join(words) if not letter.isspace()) - known


def _read(path: Path) -> Mapping[str, object]:
    """Raises ProjectError where the file cannot be read, ValueError where it is no table."""
    table = parse_json(read_file(path, MAX_BYTES), str(path))
    if not isinstance(table, dict):
        raise ValueError("it is not an object of keys and texts")
    return table
