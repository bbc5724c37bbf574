"""The shipped fonts have every letter that the studio's own texts use; others are drawn with a font of the system."""

from __future__ import annotations

from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.t2CharStringPen import T2CharStringPen
from PIL import Image, ImageDraw, ImageFont

from munet.inspect import example, registry
from studio import fonts
from studio.fontmerge import letters_of, with_letters
from studio.icons import ICONS, icon, labelled
from studio.texts import ENGLISH

NOWHERE = "\U0010fffd"  # drawn as the box of a missing letter


@pytest.fixture(params=[fonts.UI, fonts.MONO])
def font(request: pytest.FixtureRequest) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(fonts.bundled(request.param)), 24)


def missing(font: ImageFont.FreeTypeFont, letters: set[str]) -> set[str]:
    return {letter for letter in letters if not letter.isspace() and drawn(font, letter) == drawn(font, NOWHERE)}


def drawn(font: ImageFont.FreeTypeFont, letter: str) -> bytes:
    image = Image.new("L", (64, 64))
    ImageDraw.Draw(image).text((16, 16), letter, 255, font)
    return image.tobytes()


def test_all_texts_of_declarations_can_be_read(font: ImageFont.FreeTypeFont):
    letters: set[str] = set()
    for declared in registry():
        made_up = example(declared.name)
        letters |= set(declared.doc + "".join((*declared.formula, *(made_up.lines if made_up else ()))))
        letters |= set("".join(param.doc for param in declared.params))
        letters |= set("".join(socket.doc for socket in (*declared.inputs, *declared.outputs)))
    assert "ᵀ" in letters or "·" in letters  # else this test looks at nothing special
    assert missing(font, letters) == set()


def test_signs_and_letters_of_names_can_be_read(font: ImageFont.FreeTypeFont):
    assert missing(font, set("ᵀ·×≤√±µ→…²³−αβγΔΣπäöüßéñçžЖя∂∇∞≥≠●" + "".join(ENGLISH.values()))) == set()


def test_every_icon_is_in_the_font():
    assert missing(ImageFont.truetype(str(fonts.bundled(fonts.UI)), 24), set(ICONS.values())) == set()
    assert labelled("run", "Run") == f"{icon('run')}  Run" and labelled("no such", "Run") == "Run"
    with pytest.raises(KeyError):
        icon("no such")


def test_letters_of_code_are_equally_wide():
    font = ImageFont.truetype(str(fonts.bundled(fonts.MONO)), 40)
    assert len({font.getlength(letter) for letter in "iW0.ä{ᵀ→√"}) == 1


@pytest.mark.parametrize(("words", "needed"), [
    ("linear 1", False), ("Größe √2 → ∂", False), ("\uf04b  Run", False), ("卷积", True), ("かな 1", True), ("한글", True),
    ("ｗ", True),
])  # fmt: skip
def test_which_texts_need_a_font_of_the_system(words: str, needed: bool):
    assert fonts.needs_cjk(words) is needed


def test_the_preferred_font_goes_before_those_of_the_system(tmp_path: Path):
    mine, theirs = tmp_path / "mine.ttf", tmp_path / "theirs.ttf"
    theirs.touch()
    assert fonts.find_cjk(str(mine), (str(theirs),)) == theirs
    whole = fonts.bundled(fonts.UI).read_bytes()
    mine.write_bytes(whole)
    assert fonts.find_cjk(str(mine), (str(theirs),)) == mine and fonts.why_not(str(mine)) == ""
    damaged = (b"", b"# no font", whole[: len(whole) // 2], whole[:12] + b"\xff" * 500, b"\0\1\0\0" + bytes(500))
    for number, content in enumerate(damaged):
        broken = tmp_path / f"broken {number}.ttf"
        broken.write_bytes(content)
        assert fonts.why_not(str(broken)), number
        assert fonts.find_cjk(str(broken), (str(theirs),)) == theirs
    for nowhere in ("/dev/zero", str(tmp_path), "x" * 300, "\0"):
        assert fonts.why_not(nowhere) and fonts.find_cjk(nowhere, ()) is None
    assert fonts.why_not("") == ""
    assert fonts.find_cjk("", (str(tmp_path / "none.ttf"),)) is None


def test_a_font_gets_the_letters_of_a_translation_and_keeps_its_own(tmp_path: Path):
    system = fonts.find_cjk()
    if system is None:
        pytest.skip("no font with Chinese letters is installed")
    base = fonts.bundled(fonts.UI)
    made = with_letters(base, set("训练 A\uf04b\U0010fffd"), system, tmp_path)
    assert made.parent == tmp_path and letters_of(made) == letters_of(base) | set("训练")
    image = ImageFont.truetype(str(made), 24)
    own, theirs = ImageFont.truetype(str(base), 24), ImageFont.truetype(str(system), 24)
    assert missing(image, set("训练A\uf04b")) == set() and missing(own, {"训"}) == {"训"}
    assert drawn(image, "A") == drawn(own, "A") and abs(image.getlength("训") - theirs.getlength("训")) < 2
    at = made.stat().st_mtime_ns
    assert with_letters(base, "练训", system, tmp_path) == made and made.stat().st_mtime_ns == at  # kept


def test_curves_of_the_third_degree_become_those_of_a_true_type_font(tmp_path: Path):
    """As Noto CJK has them: a ring, whose inner contour must stay a hole."""
    builder = FontBuilder(1000, isTTF=False)
    builder.setupGlyphOrder([".notdef", "ring"])
    builder.setupCharacterMap({ord("训"): "ring"})
    pen, empty = T2CharStringPen(1000, None), T2CharStringPen(1000, None)
    for radius, way in ((500, 1), (250, -1)):  # outer contours run left round in such fonts
        turn = [(radius, 0), (0, radius * way), (-radius, 0), (0, -radius * way)]
        pen.moveTo((500 + turn[0][0], 500 + turn[0][1]))
        for (x, y), (u, v) in zip(turn, turn[1:] + turn[:1], strict=True):
            pen.curveTo((500 + x + 0.55 * u, 500 + y + 0.55 * v), (500 + u + 0.55 * x, 500 + v + 0.55 * y), (500 + u, 500 + v))
        pen.closePath()
    builder.setupCFF("Ring", {}, {"ring": pen.getCharString(), ".notdef": empty.getCharString()}, {})
    builder.setupHorizontalMetrics({"ring": (1000, 0), ".notdef": (1000, 0)})
    builder.setupHorizontalHeader(ascent=1000, descent=0)
    builder.setupOS2()
    builder.setupPost()
    builder.save(tmp_path / "ring.otf")
    made = with_letters(fonts.bundled(fonts.UI), "训", tmp_path / "ring.otf", tmp_path)
    image = Image.new("L", (120, 140))
    ImageDraw.Draw(image).text((10, 10), "训", 255, ImageFont.truetype(str(made), 100))
    left, top, right, bottom = image.getbbox() or (0, 0, 0, 0)
    assert abs(right - left - 100) <= 2 and abs(bottom - top - 100) <= 2
    middle = ((left + right) // 2, (top + bottom) // 2)
    assert image.getpixel(middle) == 0 and image.getpixel((left + 12, middle[1])) == 255


def test_without_another_font_or_a_cache_the_own_one_stays(tmp_path: Path):
    base = fonts.bundled(fonts.UI)
    assert with_letters(base, "训", None, tmp_path) == base and with_letters(base, "abc", base, tmp_path) == base
    (tmp_path / "file").write_text("no font")
    assert letters_of(tmp_path / "file") == letters_of(tmp_path / "none") == frozenset()
    assert with_letters(base, "训", tmp_path / "file", tmp_path) == base
    system = fonts.find_cjk()
    if system is not None:
        assert with_letters(base, "训", system, tmp_path / "file" / "cache") == base
