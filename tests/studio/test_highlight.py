"""Coloured code: nothing is lost, and each piece is what it looks like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio import highlight


def kinds(line: str, language: str = "glsl") -> dict[str, str]:
    return {words.strip(): kind for words, kind in highlight.tokens(line, language)}


def test_glsl_pieces() -> None:
    found = kinds("  float t0 = max(b0[3], 1.5e-3f);  // why")
    assert found["float"] == "type"
    assert found["max"] == "function"
    assert found["1.5e-3f"] == "number"
    assert found["// why"] == "comment"
    assert found["t0"] == "plain"
    assert kinds("for (uint i = 0xffu; i < 3; ++i) {")["for"] == "keyword"
    assert kinds("for (uint i = 0xffu; i < 3; ++i) {")["0xffu"] == "number"


def test_directives_and_comments_behind_them() -> None:
    assert highlight.tokens("#version 450 // old") == (("#version 450 ", "preprocessor"), ("// old", "comment"))
    assert kinds("a # b")["a"] == "plain"


def test_ir_pieces() -> None:
    found = kinds("    %5: f32[100,1] = mul(x=%conv 1/weight, y=%4) value=-0.5  # conv 1", "ir")
    assert found["%5"] == "name"
    assert found["f32"] == "type"
    assert found["mul"] == "function"
    assert found["%conv 1/weight"] == "name"
    assert found["-0.5"] == "number"
    assert found["# conv 1"] == "comment"
    assert kinds("  give %18, %19", "ir")["give"] == "keyword"


def test_block_comments_reach_over_lines() -> None:
    text = "/*--- contract\nfloat x\n---*/ int y; /* z */ int w; // /* no\nint v;"
    lines = list(highlight.highlighted(text))
    assert lines[0] == (("/*--- contract", "comment"),)
    assert lines[1] == (("float x", "comment"),)
    assert lines[2][0] == ("---*/ ", "comment") and ("int ", "type") in lines[2]
    assert lines[3][0] == ("int ", "type")


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(KeyError):
        highlight.tokens("x", "cobol")


@given(st.text(max_size=60).filter(lambda t: len(t.splitlines()) <= 1), st.sampled_from(("glsl", "ir")), st.booleans())
def test_nothing_is_lost(line: str, language: str, in_comment: bool) -> None:
    line = "".join(line.splitlines())
    found = highlight.tokens(line, language, in_comment)
    assert "".join(words for words, _ in found) == line.expandtabs(4)
    assert {kind for _, kind in found} <= set(highlight.KINDS)
