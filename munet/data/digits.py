"""MNIST digits: 10,000 of them ship with the package; 9,000 to train on, 1,000 held out. Source and licence: DIGITS_LICENSE.md.

The split looks at a sample's index alone, never at its picture: the indices 0 to 9,999 are sorted by
SHA-256 of the text "munet digits <index>"; the first 1,000 of that order are held out, the rest is for training.
The order is kept, so any prefix of a split is a fair mixture of the classes.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from functools import cache
from pathlib import Path

import numpy as np

from munet.data.dataset import Array, DataError, Dataset

FILE = Path(__file__).with_name("digits.npz")
FILE_SHA256 = "29f7e412a2d57447c339a8f5d6f3240bf5917b436b5717d9d749fe43ab28592d"  # printed by make_digits.py
SAMPLE_COUNT = 10_000
HELD_OUT_COUNT = 1_000


def digits() -> Dataset:
    """Columns `image` u8 [n, 1, 28, 28], 0 = paper and 255 = ink, and `label` u8 [n], 0 to 9.

    Raises DataError when the shipped file is missing or damaged.
    """
    return _digits()


@cache
def _digits() -> Dataset:
    images, labels = read_digits(FILE, FILE_SHA256)
    order = split_order(SAMPLE_COUNT)
    held_out, rest = order[:HELD_OUT_COUNT], order[HELD_OUT_COUNT:]
    images = images[:, None, :, :]
    return Dataset(
        train={"image": images[rest], "label": labels[rest]},
        test={"image": images[held_out], "label": labels[held_out]},
    )


def split_order(count: int) -> Array:
    """The indices below `count` in the order of their hashes; the same on every machine, for ever."""
    hashes = [hashlib.sha256(b"munet digits %d" % index).digest() for index in range(count)]
    return np.array(sorted(range(count), key=hashes.__getitem__), dtype=np.int64)


def read_digits(file: Path, sha256: str) -> tuple[Array, Array]:
    """Images u8 [n, 28, 28] and labels u8 [n] as stored. The checksum is compared before anything is unpacked."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise DataError(f"{file}: the digits cannot be read ({error.strerror}); reinstall munet-studio") from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise DataError(
            f"{file}: the digits are damaged: SHA-256 of {len(content)} bytes is {found[:16]}…, "
            f"but {sha256[:16]}… was shipped; reinstall munet-studio"
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            images, labels = archive["images"], archive["labels"]
    except (ValueError, KeyError, zipfile.BadZipFile) as error:  # only when the checksum itself was changed
        raise DataError(f"{file}: not an archive of images and labels: {error}") from error
    if images.shape != (len(labels), 28, 28) or images.dtype != np.uint8 or labels.dtype != np.uint8:
        raise DataError(f"{file}: images are {images.dtype}{list(images.shape)}, labels {labels.dtype}{list(labels.shape)}")
    return images, labels
