"""Files that people hand us, read with a limit and without hanging; files of ours, written whole or not at all.

Reading refuses folders, pipes and devices before it opens them for real, and stops at a stated size.
Writing puts a temporary file into the same folder, flushes it to the disk and renames it: after a crash or a
power cut the path holds the old content or the new, never a mixture.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path
from typing import Any

from munet.engine.errors import Problem, ProjectError

PathLike = str | os.PathLike[str]

# Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever; Windows has O_BINARY instead.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def read_file(path: PathLike, max_bytes: int) -> bytes:
    """The content of a regular file of at most `max_bytes`. Raises ProjectError with one Problem."""
    file = os.fspath(path)
    try:
        descriptor = os.open(file, _READ)
    except (OSError, ValueError) as error:
        raise ProjectError([_unreadable(file, error)]) from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise ProjectError([_wrong_kind(file, found.st_mode)])
    with os.fdopen(descriptor, "rb") as stream:
        if found.st_size > max_bytes:
            raise ProjectError([_too_large(file, found.st_size, max_bytes)])
        try:
            # One byte more than allowed: a file may grow while it is read.
            content = stream.read(max_bytes + 1)
        except OSError as error:
            raise ProjectError([_unreadable(file, error)]) from None
    if len(content) > max_bytes:
        raise ProjectError([_too_large(file, len(content), max_bytes)])
    return content


def write_file(path: PathLike, content: bytes) -> None:
    """Replaces the file at `path` in one step; a link is followed, permissions are kept. Raises ProjectError.

    A pipe or device that is there is written to and stays what it is, as a shell's `>` does: renaming a file over it would
    take it from everybody.
    """
    file = os.fspath(path)
    if "\0" in file:
        problem = Problem("file-write", "the file cannot be written (its name holds a zero byte)", file=file.replace("\0", "\\0"))
        raise ProjectError([problem])
    target = Path(os.path.realpath(file))  # else the rename would replace a link instead of what it points to
    temporary = target.with_name(f".{target.name[:100]}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        if _is_special(target):
            _write_into(target, content)
            return
        _write_durably(temporary, content, mode=_permissions(target))
        temporary.replace(target)
        _flush_folder(target.parent)
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError, ValueError):
            temporary.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or str(error)
        cure = "choose another folder or free some space"
        problem = Problem("file-write", f"the file cannot be written ({reason})", cure=cure, file=file)
        raise ProjectError([problem]) from None


def _is_special(target: Path) -> bool:
    """Whether something is there that is neither a file nor a folder."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _write_into(target: Path, content: bytes) -> None:
    """Into a pipe or device that takes it at once; a pipe that nobody reads is an error, no reason to wait for ever."""
    descriptor = os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if hasattr(os, "set_blocking"):
        os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)


def _write_durably(path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, _CREATE, mode), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _permissions(target: Path) -> int:
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except OSError:
        return 0o666  # a new file: what the user's umask leaves of it


def _flush_folder(folder: Path) -> None:
    """Makes the rename itself survive a power cut. Windows has no such call, some file systems refuse it: then it is skipped."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _unreadable(file: str, error: OSError | ValueError) -> Problem:
    if isinstance(error, FileNotFoundError):
        cure = "check the path, which counts from the current folder"
        return Problem("file-missing", "there is no such file", cure=cure, file=file)
    if isinstance(error, PermissionError) and not Path(file).is_dir():
        return Problem("file-permission", "the file may not be read by this user", cure="change its permissions", file=file)
    if Path(file.replace("\0", "")).is_dir():  # Windows refuses to open a folder, others open it
        return _wrong_kind(file, stat.S_IFDIR)
    reason = getattr(error, "strerror", None) or str(error)
    return Problem("file-read", f"the file cannot be read ({reason})", file=file.replace("\0", "\\0"))


def _wrong_kind(file: str, mode: int) -> Problem:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    found = kinds.get(stat.S_IFMT(mode), "a device")
    cure = "name the project file in it" if stat.S_ISDIR(mode) else ""
    return Problem("file-kind", f"this is {found}", rule="a project is a regular file", cure=cure, file=file)


def _too_large(file: str, size_bytes: int, max_bytes: int) -> Problem:
    return Problem(
        "file-size",
        f"the file has {size_bytes:,} bytes",
        rule=f"a project file has at most {max_bytes:,} bytes; weights and data lie in files of their own",
        file=file,
    )


def take_lock(stream: Any) -> bool:
    """Take the file's lock without waiting, until the stream is closed or the process ends; whether nobody else has it."""
    try:
        if os.name == "nt":
            import msvcrt  # only there

            stream.seek(0)
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl  # only there

            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # Some network file systems know no locks: there a run goes on without one.
        return error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK)
    return True
