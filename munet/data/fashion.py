"""Fashion-MNIST: 70,000 pictures of clothes in ten classes, from the files of Debian's package dataset-fashion-mnist."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from pathlib import Path

import numpy as np

from munet.data.dataset import Array, DataError, Dataset
from munet.data.files import read_bytes

DEBIAN = "/usr/share/datasets/fashion-mnist"
SHA256 = {
    "train-images-idx3-ubyte.gz": "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
    "train-labels-idx1-ubyte.gz": "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
    "t10k-images-idx3-ubyte.gz": "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
    "t10k-labels-idx1-ubyte.gz": "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
}
HOW_TO = (
    "install Debian's package dataset-fashion-mnist (apt install dataset-fashion-mnist), or put its four files, which "
    "https://github.com/zalandoresearch/fashion-mnist also offers, into a folder and name it"
)


def fashion_mnist(folder: str = "") -> Dataset:
    """`image` u8 [n, 1, 28, 28], 0 = background, and `label` u8 [n]: 60,000 to train on, 10,000 held out as published.

    `folder` holds the four files; without one Debian's place is looked at. Raises DataError that says how to get them.
    """
    return _read(folder or DEBIAN)


@cache
def _read(folder: str) -> Dataset:
    root = Path(folder).expanduser()
    missing = [name for name in SHA256 if not (root / name).is_file()]
    if missing:
        raise DataError(f"Fashion-MNIST is not here: {root} has no {', '.join(missing)}; {HOW_TO}")
    arrays = {name: read_idx(checked(root / name, digest)) for name, digest in SHA256.items()}
    train, test = (
        {"image": arrays[f"{part}-images-idx3-ubyte.gz"][:, None], "label": arrays[f"{part}-labels-idx1-ubyte.gz"]}
        for part in ("train", "t10k")
    )
    return Dataset(train, test)


def checked(path: Path, sha256: str) -> bytes:
    """The content of a file, unpacked after its checksum has been compared."""
    content = read_bytes(path, 1 << 26)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise DataError(f"{path}: SHA-256 is {found[:16]}…, but {sha256[:16]}… was published; {HOW_TO}")
    return gzip.decompress(content)


def read_idx(content: bytes) -> Array:
    """An IDX file of bytes: two zeros, 8, the number of dimensions, their sizes as 32 bits each, then the elements."""
    if len(content) < 4 or content[:3] != b"\0\0\x08" or not 1 <= content[3] <= 8:
        raise DataError("not an IDX file of bytes")
    head = 4 + 4 * content[3]
    if len(content) < head:
        raise DataError("an IDX file that ends within its head")
    shape = tuple(int.from_bytes(content[at : at + 4], "big") for at in range(4, head, 4))
    elements = np.frombuffer(content, np.uint8, offset=head)
    expected = int(np.prod(shape, dtype=object))
    if len(elements) != expected:
        raise DataError(f"an IDX file of {list(shape)} has {len(elements)} elements, not {expected}")
    return elements.reshape(shape)
