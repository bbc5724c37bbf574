"""Reads the TOML of shader assets so that every complaint names its file and line: contract.toml, and the comment in a variant.

Nothing here knows what the keys mean; `shader_asset.py` does.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from munet.engine.assets import shaders_root
from munet.engine.codegen.formula import Formula, FormulaError
from munet.engine.errors import DeclarationError, ProjectError
from munet.engine.files import read_file

MAX_SOURCE_BYTES = 10_000_000  # of a shader; also a pipe or device in its place is refused, which would never end

OPENING, CLOSING = "/*--- munet-shader", "---*/"
_AT_LINE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")
_CONSTANT = re.compile(r"^\s*layout\s*\(\s*constant_id\s*=\s*(\d+)\s*\)\s*const\s+\w+\s+(\w+)\s*=")
_EXTENSION = re.compile(r"^\s*#\s*extension\s+(\w+)\s*:\s*(require|enable)\b")


@dataclass(frozen=True)
class Table:
    """A TOML table, where it stands, and typed reading of it: what is missing or of another type is an error with its line."""

    title: str
    values: Mapping[str, Any]
    text: str
    first_line: int = 1

    def line_of(self, key: str) -> int:
        """The line on which `key` is written; the first line if it is not."""
        found = re.search(rf"^\s*(?:\[+\s*[\w.]*)?\b{re.escape(key)}\b|[{{,]\s*{re.escape(key)}\s*=", self.text, re.MULTILINE)
        return self.first_line + (self.text.count("\n", 0, found.end()) if found else 0)

    def fail(self, key: str, message: str) -> NoReturn:
        raise DeclarationError(f"{self.title}:{self.line_of(key)}: {message}")

    def only(self, known: Collection[str]) -> None:
        """Raises for a key that is not known."""
        for key in self.values:
            if key not in known:
                self.fail(key, f"unknown entry {key!r}; known: {', '.join(known)}.")

    def get(self, key: str, kind: type | tuple[type, ...], what: str, default: Any = None) -> Any:
        """The value of `key`, of type `kind`; `what` says that to people. Without a default it must be there."""
        if key not in self.values:
            if default is None:
                self.fail(key, f"{key} is missing: {what}.")
            return default
        value = self.values[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            self.fail(key, f"{key} is {value!r}, expected {what}.")
        return value

    def table(self, key: str) -> Table:
        """A table inside; empty if it is not there."""
        return Table(self.title, self.get(key, dict, "a table", {}), self.text, self.first_line)

    def formula(self, key: str, text: str, make: Any, names: Collection[str], what: str) -> Formula:
        """A formula over `names`, which are `what`."""
        try:
            made = make(text)
        except FormulaError as problem:
            self.fail(key, f"{key}: {problem}.")
        for name in made.names:
            if name not in names:
                self.fail(key, f"{key} names {name}; {what} are {', '.join(names)}.")
        return made


def title_of(path: Path) -> str:
    """A shader's file as messages name it: assets/shaders/... for the shipped ones."""
    root = shaders_root()
    return f"assets/shaders/{path.relative_to(root).as_posix()}" if path.is_relative_to(root) else str(path)


def read_toml(path: Path) -> Table:
    """A whole file."""
    title = title_of(path)
    return _parse(_text(path), title, 1)


def read_comment(source: str, title: str) -> Table:
    """The metadata comment of a variant."""
    start = source.find(OPENING)
    end = source.find(CLOSING, start)
    if start < 0 or end < 0:
        raise DeclarationError(f"{title}:1: the metadata is missing: a comment {OPENING} ... {CLOSING} at the top.")
    text = source[start + len(OPENING) : end]
    return _parse(text, title, 1 + source.count("\n", 0, start))


def read_source(path: Path) -> str:
    return _text(path)


def declared_constants(source: str) -> dict[str, tuple[int, int]]:
    """Specialization constants as written in the GLSL: name -> (id, line)."""
    found = ((number, _CONSTANT.match(line)) for number, line in enumerate(source.splitlines(), 1))
    return {match[2]: (int(match[1]), number) for number, match in found if match}


def extension_lines(source: str) -> Iterator[tuple[str, int]]:
    """(extension, line) of each that the GLSL switches on."""
    for number, line in enumerate(source.splitlines(), 1):
        if match := _EXTENSION.match(line):
            yield match[1], number


def _text(path: Path) -> str:
    """Lines end in "\\n", however the file has them; a byte order mark is left out."""
    try:
        content = read_file(path, MAX_SOURCE_BYTES)
    except ProjectError as error:
        problem = error.problems[0]
        found = "is missing" if problem.code == "file-missing" else f"cannot be read: {problem.found}"
        raise DeclarationError(f"{title_of(path)}: {found}.") from None
    try:
        text, bad = content.decode("utf-8-sig"), content.find(b"\0")
    except UnicodeDecodeError as problem:
        text, bad = "", problem.start
    if bad >= 0:
        line = 1 + content.count(b"\n", 0, bad)
        raise DeclarationError(f"{title_of(path)}:{line}: is no UTF-8 text: byte 0x{content[bad]:02x}.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _parse(text: str, title: str, first_line: int) -> Table:
    try:
        return Table(title, tomllib.loads(text), text, first_line)
    except tomllib.TOMLDecodeError as problem:
        place = _AT_LINE.search(str(problem))
        number = int(place[1]) if place and place[1] else text.count("\n") + 1
        message = _AT_LINE.sub("", str(problem))
        raise DeclarationError(f"{title}:{first_line + number - 1}: wrong TOML: {message}.") from None
