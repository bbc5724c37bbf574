"""Files of a document: opening, saving, autosave, recovery after a crash, changes from outside.

`write` and `Autosave.write` take a graph and may run on any thread: graphs never change. Files are written whole or not at all.
An autosave is held by a lock that the system drops when its process dies, so that only orphans are offered for recovery.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import platformdirs

from munet import (
    Graph,
    Problem,
    ProjectError,
    dump_project,
    load_project,
    parse_json,
    parse_project,
    read_file,
    take_lock,
    write_file,
)

MAX_BYTES = 64 * 2**20
LATEST = 253402214400.0  # the last day of the year 9999: what clocks can show
ENDING, LOCK = ".autosave.json", ".lock"


@dataclass(frozen=True)
class Stamp:
    """What a file was when it was last read or written."""

    changed_ns: int
    size_bytes: int
    sha256: str


UNKNOWN = Stamp(0, 0, "")  # differs from that of any file


def read(path: Path) -> tuple[Graph, Stamp]:
    """A project and the stamp of its file. Raises ProjectError."""
    stamp = stamp_of(path)
    graph = load_project(path)
    return graph, stamp or UNKNOWN


def write(graph: Graph, path: Path) -> Stamp:
    """Raises ProjectError when the graph or the file cannot be written; the file is then as it was."""
    content = dump_project(graph).encode()
    write_file(path, content)
    found = path.stat()
    return Stamp(found.st_mtime_ns, found.st_size, hashlib.sha256(content).hexdigest())


def stamp_of(path: Path) -> Stamp | None:
    """None if there is no such file, or none that can be read."""
    try:
        found = path.stat()
        content = read_file(path, MAX_BYTES)
    except (OSError, ProjectError):
        return None
    return Stamp(found.st_mtime_ns, found.st_size, hashlib.sha256(content).hexdigest())


def changed_outside(path: Path, known: Stamp) -> str:
    """ "changed" or "gone" if another program has written or removed the file since, else ""."""
    try:
        found = path.stat()
    except OSError:
        return "gone"
    if (found.st_mtime_ns, found.st_size) == (known.changed_ns, known.size_bytes):
        return ""
    now = stamp_of(path)
    if now is None:
        return "gone"
    return "changed" if now.sha256 != known.sha256 else ""


# -- autosave and recovery -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recovered:
    """The autosave of a process that is gone. `path` is the project's file, None for one that was never saved."""

    file: Path
    path: Path | None
    saved_at: float  # seconds since the epoch
    graph: Graph
    stamp: Stamp  # of the project's file when it was last read or written; UNKNOWN if that is not known


class Autosave:
    """The autosave of one document of this process. `close` when the document is closed on purpose: nothing is left then."""

    def __init__(self, folder: Path | None = None):
        self.folder = folder or autosave_folder()
        self._token = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._lock: Any = None

    @property
    def file(self) -> Path:
        return self.folder / f"{self._token}{ENDING}"

    def write(self, graph: Graph, path: Path | None, stamp: Stamp | None = None) -> None:
        """`stamp`: of the project's file as it is known. Raises ProjectError when the disk is full or the folder cannot be
        written to."""
        self._hold()
        entry: dict[str, Any] = {"path": None, "saved_at": time.time(), "project": dump_project(graph)}
        if path is not None:
            # Names of files need not be Unicode, JSON is.
            entry |= {"path": _shown(path), "path_bytes": os.fsencode(path.resolve()).hex()}
        if stamp is not None:
            entry["stamp"] = asdict(stamp)
        write_file(self.file, json.dumps(entry, ensure_ascii=False).encode())

    def discard(self) -> None:
        """There is nothing to recover: the document was saved."""
        with contextlib.suppress(OSError):
            self.file.unlink(missing_ok=True)

    def close(self) -> None:
        self.discard()
        self.let_go()

    def let_go(self) -> None:
        """Leave what was written to whoever starts next, as if this process were gone."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None
            with contextlib.suppress(OSError):
                self._lock_file.unlink(missing_ok=True)

    @property
    def _lock_file(self) -> Path:
        return self.folder / f"{self._token}{LOCK}"

    def _hold(self) -> None:
        if self._lock is not None:
            return
        with contextlib.suppress(OSError):  # without a lock, the worst is that it is offered while it is in use
            self.folder.mkdir(parents=True, exist_ok=True)
            stream = self._lock_file.open("wb")
            if take_lock(stream):
                self._lock = stream
            else:
                stream.close()


def autosave_folder() -> Path:
    return Path(platformdirs.user_state_dir("munet-studio", appauthor=False)) / "autosave"


def orphans(folder: Path | None = None) -> list[Recovered]:
    """Autosaves whose processes are gone, the newest first. What cannot be read is left where it is, and kept from nothing."""
    found: list[Recovered] = []
    for file in _autosaves(folder or autosave_folder()):
        with contextlib.suppress(ProjectError):
            found.append(_recovered(file))
    return sorted(found, key=lambda recovered: -recovered.saved_at)


def _recovered(file: Path) -> Recovered:
    """Raises ProjectError for what no studio has written."""
    entry = parse_json(read_file(file, MAX_BYTES), str(file))
    fits = isinstance(entry, dict) and isinstance(entry.get("project"), str) and type(entry.get("saved_at")) in (int, float)
    if not fits:
        raise ProjectError([Problem("no-autosave", "this is JSON, but no autosave of the studio", file=str(file))])
    saved_at = min(max(0.0, float(entry["saved_at"])), LATEST)
    return Recovered(file, _path_of(entry), saved_at, parse_project(entry["project"]), _stamp_of(entry.get("stamp")))


def _stamp_of(entry: Any) -> Stamp:
    kinds = {field.name: type(getattr(UNKNOWN, field.name)) for field in fields(Stamp)}
    if not isinstance(entry, dict) or {name: type(value) for name, value in entry.items()} != kinds:
        return UNKNOWN
    return Stamp(**entry)


def _path_of(entry: Mapping[str, Any]) -> Path | None:
    """None where there is none, or one that no file can have."""
    path, exact = entry.get("path"), entry.get("path_bytes")
    with contextlib.suppress(ValueError):  # no hexadecimal digits
        path = os.fsdecode(bytes.fromhex(exact)) if isinstance(exact, str) else path
    return Path(path) if isinstance(path, str) and path and "\0" not in path else None


def _shown(path: Path) -> str:
    return os.fsencode(path.resolve()).decode(errors="replace")


def forget(recovered: Recovered) -> None:
    """The person has taken it over, or does not want it."""
    with contextlib.suppress(OSError):
        recovered.file.unlink(missing_ok=True)
        _lock_of(recovered.file).unlink(missing_ok=True)


def _autosaves(folder: Path) -> Iterator[Path]:
    try:
        files = sorted(file for file in folder.iterdir() if file.name.endswith(ENDING))
    except OSError:
        return
    for file in files:
        if not _is_held(_lock_of(file)):
            yield file


def _lock_of(file: Path) -> Path:
    return file.with_name(file.name.removesuffix(ENDING) + LOCK)


def _is_held(lock: Path) -> bool:
    try:
        with lock.open("r+b") as stream:
            return not take_lock(stream)
    except OSError:
        return False
