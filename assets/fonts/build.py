"""Builds the two fonts of the studio from packages of npm: python assets/fonts/build.py FOLDER, in the folder of this file.

Dear PyGui draws one text with one file and never falls back to another, so letters, mathematical signs and icons are merged into
one. FOLDER holds packages of npm (`npm pack NAME@VERSION`), each unpacked under its name without what is before a slash:
inter-ui@4.1.1, jetbrains-mono@1.0.6, @fontsource/noto-sans@5.3.0, @fontsource/noto-sans-math@5.3.0 and font-awesome@4.7.0.
Needs fontTools and brotli. A glyph comes from the first source that has it. Kerning, substitutions and hints are left out, for
Dear ImGui uses none of them. The licences of the sources lie beside the fonts.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from fontTools.merge import Merger
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.ttLib.scaleUpem import scale_upem

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from studio.icons import ICONS

SIGNS = "ᵀᵢⱼₖ⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ₀₁₂₃₄₅₆₇₈₉₊₋·×÷±−∓√∛∞≤≥≠≈≡∝∈∉∑∏∫∂∇∆⊙⊕⊗∘∗∧∨¬∀∃∅∩∪⊂⊆→←↑↓↔⇒⇔…⌈⌉⌊⌋‖⟨⟩½¼¾●○■□▲△▼▽◀▶►◆◇✓─"
KEPT = {"cmap", "glyf", "loca", "head", "hhea", "hmtx", "maxp", "name", "OS/2", "post"}


def part(path: Path, wanted: set[int], units: int) -> TTFont | None:
    """Those code points of a font, without hints and layout tables; None if it has none of them."""
    font = TTFont(path)
    points = wanted & set(font.getBestCmap())
    if not points:
        return None
    options = Options(layout_features=[], hinting=False, notdef_outline=True, glyph_names=False, legacy_cmap=False)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=points)
    subsetter.subset(font)
    for table in set(font.keys()) - KEPT - {"GlyphOrder"}:
        del font[table]
    if font["head"].unitsPerEm != units:
        scale_upem(font, units)
    font.flavor = None
    return font


def merged(sources: list[tuple[Path, set[int]]], name: str, target: Path, *, even: bool = False) -> None:
    """One font of all sources; its metrics are those of the first. `even`: all letters are as wide as the first font's "0"."""
    taken: set[int] = set()
    units = TTFont(sources[0][0])["head"].unitsPerEm
    files: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for index, (path, wanted) in enumerate(sources):
            font = part(path, wanted - taken, units)
            if font is not None:
                taken |= set(font.getBestCmap())
                files.append(f"{folder}/{index}.ttf")
                font.save(files[-1])
        first = TTFont(files[0])
        font = Merger().merge(files)
    if even:
        width = font["hmtx"][font.getBestCmap()[ord("0")]][0]
        for glyph, (advance, bearing) in font["hmtx"].metrics.items():
            if not advance or advance == width:  # a mark above or below letters, or as it should be
                continue
            shift = (width - advance) // 2
            if font["glyf"][glyph].numberOfContours > 0:
                font["glyf"][glyph].coordinates.translate((shift, 0))
                font["glyf"][glyph].recalcBounds(font["glyf"])
            font["hmtx"][glyph] = (width, bearing + shift)
    heights = {"hhea": ("ascent", "descent", "lineGap"), "OS/2": ("sTypoAscender", "sTypoDescender", "sTypoLineGap")}
    for table, fields in heights.items():
        for field in fields:
            setattr(font[table], field, getattr(first[table], field))
    for record in list(font["name"].names):
        if record.nameID not in (0, 13, 14):
            font["name"].removeNames(nameID=record.nameID)
    for number, words in ((1, name), (2, "Regular"), (3, name), (4, name), (6, name.replace(" ", ""))):
        font["name"].setName(words, number, 3, 1, 0x409)
    font["post"].formatType = 3.0
    font.recalcTimestamp = False
    font["head"].created = font["head"].modified = first["head"].created
    font.save(target)


def main() -> None:
    sources = Path(sys.argv[1])
    signs = {ord(sign) for sign in SIGNS}
    everything = set(range(0x20, 0x2100)) - set(range(0x7F, 0xA0)) | signs
    more = [
        (sources / "noto-sans/files/noto-sans-latin-ext-400-normal.woff2", signs),
        (sources / "noto-sans-math/files/noto-sans-math-latin-400-normal.woff2", signs),
    ]
    inter = sources / "inter-ui/web/Inter-Medium.woff2"
    awesome = sources / "font-awesome/fonts/fontawesome-webfont.ttf"
    mono = sources / "jetbrains-mono/fonts/webfonts/JetBrainsMono-Regular.woff2"
    icons = {ord(icon) for icon in ICONS.values()}
    merged([(inter, everything), *more, (awesome, icons)], "MuNet Studio UI", HERE / "studio-ui.ttf")
    merged([(mono, everything), *more], "MuNet Studio Mono", HERE / "studio-mono.ttf", even=True)


if __name__ == "__main__":
    main()
