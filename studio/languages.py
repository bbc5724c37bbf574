"""Translations: one JSON file a language with the keys of `english.json`, in the folder `languages` beside the preferences.

What a file lacks stays English. A file that cannot be used is told about, with the reason, and nothing is translated.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Formatter

from munet import ProjectError, parse_json, read_file
from studio import fonts, texts
from studio.fontmerge import letters_of
from studio.preferences import preferences_file

ENGLISH = "en"
MAX_BYTES = 2**20


def folder() -> Path:
    return preferences_file().with_name("languages")


def available(where: Path | None = None) -> tuple[str, ...]:
    """English, and the names of the files that there are."""
    try:
        found = sorted(file.stem for file in (where or folder()).iterdir() if file.suffix == ".json")
    except OSError:
        found = []
    return (ENGLISH, *(name for name in found if name != ENGLISH))


def use(name: str, where: Path | None = None, cjk_font: str = "") -> str:
    """Show texts in that language from now on; "" if that went well, else why they stay English.

    `cjk_font`: as in the preferences, the file for letters that the studio's own font lacks.
    """
    texts.use({})
    if name == ENGLISH:
        return ""
    path = (where or folder()) / f"{name}.json"
    try:
        texts.use(_readable(_read(path), cjk_font))
    except (ProjectError, ValueError) as error:
        return f"{path.name}: {error}"
    return ""


def _readable(table: Mapping[str, str], cjk_font: str) -> Mapping[str, str]:
    """Raises ValueError where no font has letters that the table needs: there would be boxes."""
    more = fonts.find_cjk(cjk_font)
    known = letters_of(fonts.bundled(fonts.UI)) | (letters_of(more) if more is not None else frozenset())
    missing = sorted({letter for letter in "".join(table.values()) if not letter.isspace()} - known)
    if missing:
        raise ValueError(f"no font here has {''.join(missing[:8])}; name one in the preferences, or install fonts-noto-cjk")
    return table


def _read(path: Path) -> Mapping[str, str]:
    """Raises ProjectError where the file cannot be read, ValueError where it is no table of texts."""
    table = parse_json(read_file(path, MAX_BYTES), str(path))
    if not isinstance(table, dict):
        raise ValueError("it is no object of keys and texts")
    for key, words in table.items():
        if not isinstance(words, str):
            raise ValueError(f'the text of "{key}" is no string')
        extra = _values(words) - _values(texts.ENGLISH.get(key, words))
        if extra:
            raise ValueError(f'the text of "{key}" has values that there are not: {", ".join(sorted(extra))}')
    return table


def _values(words: str) -> set[str]:
    """The names in braces. Raises ValueError where braces do not close."""
    return {name for _, name, _, _ in Formatter().parse(words) if name is not None}
