"""Strict JSON from untrusted text: plain data and a list of all problems, or ProjectError where nothing can be read.

Stricter than Python's reader: no NaN or Infinity, no key twice in an object, numbers that fit 64 bits.
Depth and the number of values are bounded before parsing, so a hostile file costs neither the stack nor the memory.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from munet.engine.errors import Problem, ProjectError

MAX_DEPTH = 64
MAX_VALUES = 250_000  # about 20,000 nodes
MAX_PROBLEMS = 50  # a broken file may hold thousands; nobody reads more
MAX_NUMBER_LENGTH = 100  # characters; the longest exact f64 has 24

# Possessive: an unterminated string must cost one pass, not one for each of its quotes.
_STRING = r'"(?:[^"\\]++|\\.)*+"?'
_STRINGS = re.compile(_STRING, re.DOTALL)
_STRUCTURE = re.compile(r"[^][}{]+")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_TOKENS = re.compile(_STRING + r"|[-+.\w]+", re.DOTALL)


def decode_utf8(content: bytes, file: str = "") -> str:
    """UTF-8 text, with or without a byte-order mark. Raises ProjectError naming the byte that is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = f"byte {error.start} (line {line}) is 0x{content[error.start]:02x}, which is not UTF-8"
        problem = Problem("not-utf8", found, rule="a project file is UTF-8 text", cure="save it as UTF-8", file=file)
        raise ProjectError([problem]) from None


def read_json(text: str, file: str = "") -> tuple[Any, list[Problem]]:
    """The data and what was wrong with its keys and numbers (each wrong number reads as 1).

    Raises ProjectError for text that cannot be read at all: empty, too deep, too large, or a syntax error.
    """
    if not text.strip():
        cure = "restore it from a backup or save it anew"
        raise ProjectError([Problem("file-empty", "the file is empty", cure=cure, file=file)])
    _check_extent(text, file)
    reader = _Reader()
    try:
        data = json.loads(
            text,
            parse_int=reader.integer,
            parse_float=reader.number,
            parse_constant=reader.constant,
            object_pairs_hook=reader.object,
        )
    except json.JSONDecodeError as error:
        raise ProjectError([_syntax_problem(text, error, file)]) from None
    problems = [*reader.duplicates, *_number_problems(text, reader.numbers), *_surrogate_problems(text)]
    return data, [problem.at(file=file) for problem in problems]


def parse_json(content: bytes, file: str = "") -> Any:
    """The data of a JSON file that this program keeps for itself. Raises ProjectError where there is anything wrong with it."""
    data, problems = read_json(decode_utf8(content, file), file)
    if problems:
        raise ProjectError(problems[:MAX_PROBLEMS])
    return data


class _Reader:
    """The hooks of Python's JSON reader. They are told no positions, so wrong numbers are looked up in the text afterwards."""

    def __init__(self) -> None:
        self.duplicates: list[Problem] = []
        self.numbers: dict[str, str] = {}  # literal -> what is wrong with it

    def integer(self, literal: str) -> int:
        if len(literal) <= MAX_NUMBER_LENGTH and -(2**63) <= int(literal) < 2**64:
            return int(literal)
        self.numbers[literal] = "does not fit 64 bits"
        return 1

    def number(self, literal: str) -> float:
        if len(literal) > MAX_NUMBER_LENGTH:
            self.numbers[literal] = f"has {len(literal):,} characters; {MAX_NUMBER_LENGTH} are allowed"
            return 1.0
        value = float(literal)
        if math.isinf(value):
            self.numbers[literal] = "is larger than any 64-bit number"
            return 1.0
        return value

    def constant(self, literal: str) -> float:
        self.numbers[literal] = "is not JSON"
        return 1.0

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            named = f' of "{_short(found["id"])}"' if isinstance(found.get("id"), str) else ""
            for key, count in Counter(key for key, _ in pairs).items():
                if count > 1:
                    text = f'the key "{_short(key)}" stands {count} times in one object{named}'
                    self.duplicates.append(Problem("duplicate-key", text, rule="a key stands once", cure="remove all but one"))
        return found


def _check_extent(text: str, file: str) -> None:
    """Bounds depth and count with string operations that cost one pass over the text each."""
    bare = _STRINGS.sub("", text)
    values = sum(map(bare.count, ",:[{"))
    if values > MAX_VALUES:
        problem = Problem("json-size", f"the file holds about {values:,} values", rule=f"at most {MAX_VALUES:,}", file=file)
        raise ProjectError([problem])
    if _is_deeper(_STRUCTURE.sub("", bare), MAX_DEPTH):
        rule = f"lists and objects nest at most {MAX_DEPTH} deep"
        raise ProjectError([Problem("json-depth", f"lists or objects nest more than {MAX_DEPTH} deep", rule=rule, file=file)])


def _is_deeper(brackets: str, limit: int) -> bool:
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in "[{" else -1
        # Closing below zero is a syntax error, at which the reader stops; what follows cannot make it recurse.
        if depth > limit or depth < 0:
            return depth > limit
    return False


def _syntax_problem(text: str, error: json.JSONDecodeError, file: str) -> Problem:
    place = f"line {error.lineno}, column {error.colno}"
    what = error.msg[0].lower() + error.msg[1:]
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        cure = "the file seems cut short: restore it from a backup"
        return Problem("json-truncated", f"the file ends in the middle ({place}: {what})", cure=cure, file=file)
    return Problem("json-syntax", f"{place}: {what}", rule="a project file is JSON", file=file)


def _number_problems(text: str, numbers: dict[str, str]) -> list[Problem]:
    if not numbers:
        return []
    problems: list[Problem] = []
    seen: set[str] = set()
    for token in _TOKENS.finditer(text):
        literal = token.group()
        if literal not in numbers or literal in seen:
            continue
        if len(seen) == MAX_PROBLEMS:
            break
        seen.add(literal)
        line = text.count("\n", 0, token.start()) + 1
        rule = 'numbers are finite and fit 64 bits; infinity is written {"float": "inf"}, not-a-number {"float": "nan"}'
        problems.append(Problem("json-number", f"line {line}: {_short(literal)} {numbers[literal]}", rule=rule))
    return problems


def _surrogate_problems(text: str) -> list[Problem]:
    """JSON can spell half of a surrogate pair, which is no character and cannot be written as UTF-8."""
    problems: list[Problem] = []
    if _SURROGATE.search(text) is None:
        return []
    for token in _TOKENS.finditer(text):
        if _SURROGATE.search(token.group()) is None or len(problems) == MAX_PROBLEMS:
            continue
        try:
            json.loads(token.group()).encode()
        except UnicodeEncodeError:
            line = text.count("\n", 0, token.start()) + 1
            problems.append(Problem("not-unicode", f"line {line}: a text holds half of a surrogate pair", rule="text is Unicode"))
    return problems


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
