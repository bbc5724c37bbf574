"""Files of a cache: content with a checksum, written so that other processes never see half of one.

A cache may vanish, be full, read-only or damaged without anything failing: reading then finds nothing, writing does nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import tempfile
from pathlib import Path

_log = logging.getLogger(__name__)
_MAGIC = b"munet-cache-1\n"
_HEAD_BYTES = len(_MAGIC) + hashlib.sha256().digest_size

_refused: set[Path] = set()  # folders that could not be written: said once, not for each file


def read(path: Path) -> bytes | None:
    """The content stored at `path`; None if there is none or it is damaged (a damaged file is removed)."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    content = stored[_HEAD_BYTES:]
    if stored[:_HEAD_BYTES] == _head(content):
        return content
    _log.warning("%s is damaged; it is rebuilt", path)
    with contextlib.suppress(OSError):  # a read-only cache: the file is passed over each time
        path.unlink()
    return None


def write(path: Path, content: bytes) -> bool:
    """Store `content` at `path`, replacing what is there; False if the folder does not allow it."""
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder: a rename is only atomic within one file system.
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = Path(file.name)
            file.write(_head(content) + content)
        temporary.replace(path)
    except OSError as problem:
        if temporary is not None:
            with contextlib.suppress(OSError):  # nothing more can be done about a leftover
                temporary.unlink()
        if path.parent not in _refused:
            _refused.add(path.parent)
            _log.warning("cache folder %s cannot be written (%s): going on without it", path.parent, problem)
        return False
    return True


def _head(content: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(content).digest()
