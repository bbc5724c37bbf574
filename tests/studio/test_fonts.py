"""The shipped fonts have every letter that the studio's own texts use; others are drawn with a font of the system."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from munet.inspect import registry
from studio import fonts
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
        letters |= set(declared.doc + "".join(declared.formula))
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
    mine.touch()
    assert fonts.find_cjk(str(mine), (str(theirs),)) == mine
    assert fonts.find_cjk("", (str(tmp_path / "none.ttf"),)) is None
