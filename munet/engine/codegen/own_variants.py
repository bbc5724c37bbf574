"""A person's own shader variants: files ASSET/NAME.comp in a folder of theirs (MUNET_SHADERS), beside the shipped ones.

A file is taken up once it compiles and fits its contract. While it does not, the last version that did stays in use in this
process, or it is left out; either way `faults` says why, and nothing else is disturbed. Which variants are to be used wherever
they can run is written in `used.json` there.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import threading
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from munet.engine import settings
from munet.engine.codegen.asset_check import check_variant
from munet.engine.codegen.shader_asset import Asset, Variant, asset_names, load_asset, read_variant
from munet.engine.errors import DeclarationError, ProjectError, ShaderError
from munet.engine.files import read_file, write_file
from munet.engine.strict_json import parse_json

USED_BYTES = 2**20

_log = logging.getLogger(__name__)
MAX_USED_BYTES = 1_000_000
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_MARK = re.compile(r"^(.*?):(\d+): (.*)$")

_good: dict[Path, Variant] = {}  # the last version of each file that was right
_told: set[tuple[Path, str]] = set()
_lock = threading.Lock()


@dataclass(frozen=True)
class Mark:
    """What is wrong at a line of a file; line 1 also stands for the file as a whole."""

    line: int
    message: str


@dataclass(frozen=True)
class Fault:
    """Why an own file is not used as it is now; `kept`: its last good version is."""

    path: Path
    marks: tuple[Mark, ...]
    kept: bool = False

    def __str__(self) -> str:
        return "\n".join(f"{self.path}:{mark.line}: {mark.message}" for mark in self.marks)


def own_folder() -> Path:
    return settings.current().shaders_dir


def whole_asset(name: str) -> Asset:
    """The shipped asset with a person's own variants. Raises ShaderError if there is none of that name."""
    return _joined(load_asset(name), _variants(name)[0])


def faults(name: str) -> tuple[Fault, ...]:
    """What is wrong with the own variants of an asset."""
    return _variants(name)[1]


def used(name: str) -> tuple[str, ...]:
    """The variants of an asset that a person wants used wherever they can run."""
    path = own_folder() / "used.json"
    return _read_used(path, _stamp(path)).get(name, ())


def set_used(asset: str, variant: str, on: bool) -> None:
    """Have a variant used wherever it can run, or leave it to the usual choice. Raises ProjectError if that cannot be written."""
    path = own_folder() / "used.json"
    table = dict(_read_used(path, _stamp(path)))
    others = [name for name in table.get(asset, ()) if name != variant]
    table[asset] = (*others, variant) if on else tuple(others)
    _write(path, json.dumps({name: names for name, names in sorted(table.items()) if names}, indent=2) + "\n")


def new_variant(asset: str, base: str, name: str) -> Path:
    """Copy a variant into a person's own folder under another name.

    Raises ShaderError naming what is wrong with the name, ProjectError if the file cannot be written.
    """
    found = whole_asset(asset).variant(base)
    if not _NAME.fullmatch(name):
        raise ShaderError(f"{name!r} is no name of a variant: small letters, digits and _, a letter first")
    path = own_folder() / asset / f"{name}.comp"
    if path.exists() or any(variant.name == name for variant in load_asset(asset).variants):
        raise ShaderError(f"asset {asset} has a variant {name!r} already")
    _write(path, found.source)
    return path


def check_text(asset: str, name: str, text: str) -> tuple[Mark, ...]:
    """What would be wrong with a person's own file of that name that held this text. Nothing is written."""
    return _faults_of(own_folder() / asset / f"{name}.comp", load_asset(asset), text)[1]


def save_variant(path: Path, text: str) -> None:
    """Write an own file anew. Raises ShaderError for a file elsewhere, ProjectError if it cannot be written."""
    _ensure_own(path)
    _write(path, text)


def delete_variant(path: Path) -> None:
    """Remove an own file. Raises ShaderError for a file elsewhere, or one that cannot be removed."""
    _ensure_own(path)
    try:
        path.unlink(missing_ok=True)
    except OSError as problem:
        raise ShaderError(f"{path} cannot be removed: {problem}") from problem
    with _lock:
        _good.pop(path, None)


def _ensure_own(path: Path) -> None:
    if not path.resolve().is_relative_to(own_folder().resolve()):
        raise ShaderError(f"{path} is no file of your own; copy the variant first")


def marks_of(message: str, title: str) -> tuple[Mark, ...]:
    """An error's lines `file:line: message` by their place in the file called `title`; those of other files stand at line 1."""
    found = []
    for line in message.splitlines():
        match = _MARK.match(line)
        inside = match is not None and match[1] == title
        found.append(Mark(int(match[2]), match[3]) if match and inside else Mark(1, line))
    return tuple(found)


def _joined(asset: Asset, own: Collection[Variant]) -> Asset:
    if not own:
        return asset
    return replace(asset, variants=tuple(sorted((*asset.variants, *own), key=lambda v: (-v.rank, v.name))))


def _variants(name: str) -> tuple[tuple[Variant, ...], tuple[Fault, ...]]:
    folder = own_folder() / name
    shipped = load_asset(name)
    found: list[Variant] = []
    wrong: list[Fault] = []
    for path in sorted(folder.glob("*.comp")) if folder.is_dir() else ():
        read = _read(path, _stamp(path), shipped)
        with _lock:
            if isinstance(read, Variant):
                _good[path] = read
                found.append(read)
                continue
            kept = _good.get(path)
        if kept is not None:
            found.append(kept)
        fault = Fault(path, read, kept is not None)
        wrong.append(fault)
        _tell(fault)
    return tuple(found), tuple(wrong)


@lru_cache(maxsize=256)
def _read(path: Path, stamp: object, shipped: Asset) -> Variant | tuple[Mark, ...]:
    """The variant, or what is wrong with it. `stamp`: another one is another content."""
    variant, marks = _faults_of(path, shipped)
    return variant if variant is not None else marks


def _faults_of(path: Path, shipped: Asset, text: str | None = None) -> tuple[Variant | None, tuple[Mark, ...]]:
    """The variant if nothing is wrong with it, else what is; of the file, or of this text in its place."""
    if any(variant.name == path.stem for variant in shipped.variants):
        return None, (Mark(1, f"{shipped.name} is shipped with a variant {path.stem!r}; give this file another name"),)
    if not _NAME.fullmatch(path.stem):
        return None, (Mark(1, f"{path.stem!r} is no name of a variant: small letters, digits and _, a letter first"),)
    try:
        variant = replace(read_variant(path, shipped.contract, text), own=True)
        check_variant(shipped.name, shipped.contract, variant)
    except (DeclarationError, ShaderError) as error:
        return None, marks_of(str(error), str(path))
    return variant, ()


def _tell(fault: Fault) -> None:
    key = (fault.path, str(fault))
    with _lock:
        known = key in _told
        _told.add(key)
    if not known:
        _log.warning("%s\n%s", fault, "its last good version stays in use" if fault.kept else "the variant is left out")


@lru_cache(maxsize=8)
def _read_used(path: Path, stamp: object) -> dict[str, tuple[str, ...]]:
    """{} for a file that is missing or not as `set_used` writes it."""
    try:
        table = parse_json(read_file(path, USED_BYTES), str(path)) if path.exists() else {}
    except (OSError, ProjectError) as problem:
        _log.warning("%s is passed over: %s", path, problem)
        return {}
    if not isinstance(table, dict):
        return {}
    known = set(asset_names())
    return {
        name: tuple(text for text in names if isinstance(text, str))
        for name, names in table.items()
        if name in known and isinstance(names, list)
    }


def _stamp(path: Path) -> object:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _write(path: Path, text: str) -> None:
    with contextlib.suppress(OSError):  # what is wrong with the folder is said when the file is written
        path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, text.encode())
