"""Splits lines of GLSL and of the IR's text form into coloured pieces; the pieces of a line put together are that line again.

Kinds: keyword, type, number, comment, preprocessor, function, name, punctuation, plain. "name" is a value or a buffer of ours:
`%12`, `%conv 1/weight`. A view gives each kind a colour; this knows no colours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

Token = tuple[str, str]  # the text and its kind
KINDS = ("keyword", "type", "number", "comment", "preprocessor", "function", "name", "punctuation", "plain")
TAB = "    "

_GLSL_KEYWORDS = frozenset(
    "attribute break buffer case centroid coherent const continue default demote discard do else flat for highp if in inout "
    "invariant layout lowp mediump noperspective out patch precise precision readonly restrict return shared smooth struct "
    "subroutine switch uniform varying void volatile while writeonly true false".split()
)
_GLSL_TYPES = re.compile(
    r"(bool|int|uint|float|double|half|[biu]?vec[234]|dvec[234]|f16vec[234]|d?mat[234](x[234])?|float(16|32|64)_t|u?int(8|16|32|64)_t"
    r"|coopmat|[iu]?(sampler|image|texture)\w*)\Z"
)
_GLSL = re.compile(
    r"(?P<comment>//.*|/\*.*?(?:\*/|\Z))"
    r"|(?P<preprocessor>\A\s*\#.*)"
    r"|(?P<number>0[xX][0-9a-fA-F]+[uU]?|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[uU]|lf|LF|[fF]|hf)?)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<space>\s+)"
    r"|(?P<punctuation>.)"
)
_IR_KEYWORDS = frozenset(("give", "fused", "true", "false"))
_IR_TYPES = re.compile(r"(bool|[fiu](8|16|32|64)|bf16)\Z")
_IR = re.compile(
    r"(?P<comment>\#.*|//.*)"
    r"|(?P<name>%[^:,=()\[\]#]*[^:,=()\[\]#\s])"
    r"|(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\b)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<space>\s+)"
    r"|(?P<punctuation>.)"
)
_PATTERNS = {"glsl": (_GLSL, _GLSL_KEYWORDS, _GLSL_TYPES), "ir": (_IR, _IR_KEYWORDS, _IR_TYPES)}


@lru_cache(maxsize=8192)
def tokens(line: str, language: str = "glsl", in_comment: bool = False) -> tuple[Token, ...]:
    """The pieces of one line; neighbours of one kind are one piece. Tabs become spaces. `language`: "glsl" or "ir".

    `in_comment`: the line begins inside a block comment. Raises KeyError for a language that is not known.
    """
    pattern, keywords, types = _PATTERNS[language]
    line = line.expandtabs(len(TAB))
    found: list[Token] = []
    start = 0
    if in_comment:
        end = line.find("*/")
        start = len(line) if end < 0 else end + 2
        found.append((line[:start], "comment"))
    # finditer with a start: "\A" means the beginning of the line, not that place.
    for match in pattern.finditer(line, start):
        kind = match.lastgroup or "plain"
        words = match.group()
        if kind == "preprocessor":
            found.extend(_preprocessor(words))
            continue
        if kind == "word":
            kind = _kind_of(words, line[match.end() :].lstrip(), keywords, types)
        elif kind == "space":
            kind = found[-1][1] if found else "plain"
        if found and found[-1][1] == kind:
            found[-1] = found[-1][0] + words, kind
        else:
            found.append((words, kind))
    return tuple(found)


def ends_in_comment(line: str, in_comment: bool = False) -> bool:
    """Whether the line after this one begins inside a block comment."""
    rest = line
    while True:
        if in_comment:
            end = rest.find("*/")
            if end < 0:
                return True
            rest, in_comment = rest[end + 2 :], False
        block, single = rest.find("/*"), rest.find("//")
        if block < 0 or 0 <= single < block:
            return False
        rest, in_comment = rest[block + 2 :], True


def highlighted(text: str, language: str = "glsl") -> Iterator[tuple[Token, ...]]:
    """The pieces of each line of a whole text."""
    in_comment = False
    for line in text.splitlines():
        yield tokens(line, language, in_comment)
        in_comment = language == "glsl" and ends_in_comment(line, in_comment)


def _preprocessor(words: str) -> list[Token]:
    """A directive; a comment behind it stays one."""
    at = min((place for place in (words.find("//"), words.find("/*")) if place >= 0), default=len(words))
    return [piece for piece in ((words[:at], "preprocessor"), (words[at:], "comment")) if piece[0]]


def _kind_of(word: str, after: str, keywords: frozenset[str], types: re.Pattern[str]) -> str:
    if word in keywords:
        return "keyword"
    if types.match(word):
        return "type"
    return "function" if after.startswith("(") else "plain"
