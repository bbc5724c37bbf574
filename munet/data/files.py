"""Reads files that a user names: whole, limited in size, and with errors that name the file."""

from __future__ import annotations

from pathlib import Path

from munet.data.dataset import DataError

LARGEST_BYTES = 1 << 32  # of one file, and of what an archive unpacks to


def find(name: str, what: str) -> Path:
    """The file `name`, relative to the folder that the program runs in. Raises DataError where there is none."""
    if not name:
        raise DataError(f"no {what} is named: the node's parameter is empty")
    if "\0" in name:
        raise DataError(f"{name!r} is not the name of a file")
    path = Path(name).expanduser()
    if not path.is_file():
        where = "" if path.is_absolute() else f" in {Path.cwd()}"
        raise DataError(f'there is no {what} "{name}"{where}; relative names count from the folder that the program runs in')
    return path


def read_bytes(path: Path, largest: int = LARGEST_BYTES) -> bytes:
    """The file's content. Raises DataError when it cannot be read or is larger than `largest`."""
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    if len(content) > largest:
        raise DataError(f"{path}: it has more than {largest} bytes, the most that is read")
    return content


def read_text(path: Path, largest: int = 1 << 28) -> str:
    """The file as text in UTF-8."""
    try:
        return read_bytes(path, largest).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not text in UTF-8") from error
