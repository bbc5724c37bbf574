"""A font file for a language: the studio's own, with the letters of a translation that it lacks from a font of the system.

Dear PyGui draws a text with one file and never falls back to another, and icons stand in one text with words. Only the letters
that the translation uses are taken, so that it takes a moment and some kilobytes; the file is kept in the cache.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs
from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont, TTLibError

from munet import ProjectError, write_file

MOST_OFF = 1.0  # units that a curve may lie off where cubic ones become quadratic
VERSION = 1  # of what is written: another one makes new files


def letters_of(path: Path) -> frozenset[str]:
    """The letters that a font has; none, if it cannot be read."""
    try:
        with TTFont(path, fontNumber=0, lazy=True) as font:
            return frozenset(map(chr, font.getBestCmap() or {}))  # symbol fonts have none
    except Exception:  # noqa: BLE001  # fontTools raises errors of all kinds for damaged tables
        return frozenset()


@cache
def why_no_font(path: Path) -> str:
    """ "" for a whole font file that has letters, else what is wrong: Dear PyGui must not be given what is none."""
    try:
        with TTFont(path, fontNumber=0, lazy=True) as font:
            for name in ("head", "hhea", "hmtx", "maxp", "cmap", *(("glyf", "loca") if "glyf" in font else ("CFF ",))):
                if len(font.getTableData(name)) == 0:
                    return f"its table {name} is empty"
            return "" if font.getBestCmap() else "it names no letters"
    except Exception as error:  # noqa: BLE001  # as above
        return str(error) or type(error).__name__


def with_letters(base: Path, letters: Iterable[str], more: Path | None, folder: Path | None = None) -> Path:
    """A file with the base's letters and those of `letters` that it lacks and `more` has; the base itself where that is all.

    A cache that cannot be written leaves the base, and boxes in place of letters.
    """
    missing = {letter for letter in letters if not letter.isspace()} - letters_of(base)
    if more is not None and missing:
        missing &= letters_of(more)
    if more is None or not missing:
        return base
    names = (str(VERSION), str(base.stat().st_mtime_ns), str(more), str(more.stat().st_mtime_ns), *sorted(missing))
    digest = hashlib.sha256("\0".join(names).encode()).hexdigest()[:16]
    path = (folder or cache_folder()) / f"{base.stem}-{digest}.ttf"
    if path.is_file():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, merged(base, missing, more))
    except (OSError, ProjectError, TTLibError):
        return base
    return path


def cache_folder() -> Path:
    return Path(platformdirs.user_cache_dir("munet-studio", appauthor=False)) / "fonts"


def merged(base: Path, letters: Iterable[str], more: Path) -> bytes:
    """The content of a TrueType font. Outlines are scaled to the base's units; hints and kerning are left out."""
    with TTFont(base) as font, TTFont(more, fontNumber=0, lazy=True) as source:
        scale = _table(font, "head").unitsPerEm / _table(source, "head").unitsPerEm
        names, outlines = source.getBestCmap() or {}, source.getGlyphSet()
        glyphs, widths, order = _table(font, "glyf"), _table(font, "hmtx"), font.getGlyphOrder()
        for letter in sorted(letters):
            glyph, name = names[ord(letter)], f"more{ord(letter):x}"
            plain = DecomposingRecordingPen(outlines)
            outlines[glyph].draw(plain)
            pen = TTGlyphPen(None)
            cubic = "glyf" not in source  # whose contours also run the other way round
            target = Cu2QuPen(pen, MOST_OFF, reverse_direction=True) if cubic else pen
            plain.replay(TransformPen(target, (scale, 0, 0, scale, 0, 0)))
            order.append(name)
            glyphs[name] = pen.glyph()
            widths[name] = (round(outlines[glyph].width * scale), getattr(glyphs[name], "xMin", 0))
            for table in _table(font, "cmap").tables:
                if table.isUnicode() and (ord(letter) <= 0xFFFF or table.format == 12):
                    table.cmap[ord(letter)] = name
        font.setGlyphOrder(order)
        content = io.BytesIO()
        font.save(content)
        return content.getvalue()


def _table(font: TTFont, name: str) -> Any:
    return font[name]
