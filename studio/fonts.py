"""Which font file draws which text. Dear PyGui draws a text with one file and never falls back to another.

The studio ships one file with Latin, Greek and Cyrillic letters, mathematical signs and icons, and one of even width for code.
Chinese, Japanese and Korean letters would be megabytes: they are drawn with a font of the system, if there is one.
"""

from __future__ import annotations

import re
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from studio import fontmerge

_HERE = Path(__file__).resolve().parent
UI, MONO = "studio-ui.ttf", "studio-mono.ttf"
# Radicals to ideographs, Hangul, compatibility and full-width forms, and the planes of rare ideographs.
CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]"
)
_SYSTEM = {
    "linux": (
        "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc",
        "/usr/share/fonts/wqy-microhei/wqy-microhei.ttc",
        "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
        "/usr/share/fonts/noto-cjk/NotoSansCJK-Regular.ttc",
        "/usr/share/fonts/google-noto-cjk/NotoSansCJK-Regular.ttc",
        "/usr/share/fonts/google-noto-sans-cjk-fonts/NotoSansCJK-Regular.ttc",
        "/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
        "/usr/share/fonts/truetype/droid/DroidSansFallback.ttf",
        "/usr/share/fonts/droid/DroidSansFallbackFull.ttf",
    ),
    "win32": tuple(f"C:/Windows/Fonts/{name}" for name in ("msyh.ttc", "YuGothM.ttc", "malgun.ttf", "simsun.ttc")),
    "darwin": (
        "/System/Library/Fonts/PingFang.ttc",
        "/System/Library/Fonts/Hiragino Sans GB.ttc",
        "/System/Library/Fonts/STHeiti Medium.ttc",
        "/Library/Fonts/Arial Unicode.ttf",
    ),
}


def bundled(name: str) -> Path:
    """The path of UI or MONO; the file is there unless the installation is broken."""
    inside = _HERE / "_assets" / "fonts" / name  # of a wheel
    return inside if inside.is_file() else _HERE.parent / "assets" / "fonts" / name


def needs_cjk(words: str) -> bool:
    """Whether the studio's own font lacks letters of a text, and a font of the system may have them."""
    return not words.isascii() and CJK.search(words) is not None


def find_cjk(preferred: str = "", places: Iterable[str] | None = None) -> Path | None:
    """The preferred file if it is a font, else the first of the places where systems keep such a font."""
    if preferred and not why_not(preferred):
        return Path(preferred)
    known = _SYSTEM.get(sys.platform, ()) if places is None else places
    return next((Path(name) for name in known if Path(name).is_file()), None)


def why_not(preferred: str) -> str:
    """Why a file that a person names is not used for letters; "" if it is, or none is named."""
    if not preferred:
        return ""
    try:
        there = stat.S_ISREG(Path(preferred).stat().st_mode)
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", "") or str(error)
    return fontmerge.why_no_font(Path(preferred)) if there else "it is no file"
