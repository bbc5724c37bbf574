"""The shipped digits: whole, split the same for ever, and refused when damaged."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
import pytest

from munet.data.dataset import DataError
from munet.data.digits import FILE, FILE_SHA256, digits, read_digits, split_order


def test_the_split():
    dataset = digits()
    assert {name: (array.dtype.name, array.shape) for name, array in dataset.train.items()} == {
        "image": ("uint8", (9000, 1, 28, 28)),
        "label": ("uint8", (9000,)),
    }
    assert dataset.test_count == 1000
    for columns, share in ((dataset.train, 900), (dataset.test, 100)):
        counts = np.bincount(columns["label"], minlength=10)
        assert (np.abs(counts - share) < 0.2 * share).all()
    # Any prefix is a mixture: a short run sees all classes.
    assert len(set(dataset.train["label"][:100].tolist())) == 10


def test_no_picture_is_in_both_splits():
    dataset = digits()
    train, test = ({image.tobytes() for image in columns["image"]} for columns in (dataset.train, dataset.test))
    assert (len(train), len(test)) == (9000, 1000)
    assert not train & test


def test_the_split_never_changes():
    order = split_order(10_000)
    assert sorted(order.tolist()) == list(range(10_000))
    assert order[:5].tolist() == [2892, 8672, 4321, 7616, 8673]
    assert hashlib.sha256(order.astype("<i8").tobytes()).hexdigest()[:16] == "b75a3094f8d0c73b"


def test_pictures_are_upright_and_dark_is_paper():
    images, labels = read_digits(FILE, FILE_SHA256)
    assert np.bincount(labels).tolist() == [1001, 1127, 991, 1032, 980, 863, 1014, 1070, 944, 978]
    assert images.max() == 255
    assert images[:, 0, :].mean() < 1 < 30 < images.mean()
    ones = images[labels == 1].mean(axis=0)
    assert ones[6:22, 13:15].mean() > 2 * ones[13:15, 6:22].mean()  # a one stands, it does not lie


def test_arrays_are_shared_and_cannot_be_changed():
    image = digits().train["image"]
    assert image is digits().train["image"]
    with pytest.raises(ValueError, match="read-only"):
        image[0] = 1


def test_damage_is_named(tmp_path: Path):
    content = bytearray(FILE.read_bytes())
    content[len(content) // 2] ^= 1
    damaged = tmp_path / "digits.npz"
    damaged.write_bytes(content)
    with pytest.raises(DataError, match=r"digits.npz: the digits are damaged: SHA-256 of .* bytes is .*; reinstall munet-studio"):
        read_digits(damaged, FILE_SHA256)
    with pytest.raises(DataError, match="cannot be read"):
        read_digits(tmp_path / "none.npz", FILE_SHA256)


class Bomb:
    """Unpickling one would write a file."""

    def __init__(self, target: Path):
        self.target = target

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.target,))


def test_pickled_objects_are_never_loaded(tmp_path: Path):
    buffer = io.BytesIO()
    np.savez(buffer, images=np.array([Bomb(tmp_path / "boom")], dtype=object), labels=np.zeros(1, np.uint8))
    file = tmp_path / "digits.npz"
    file.write_bytes(buffer.getvalue())
    with pytest.raises(DataError, match="not an archive of images and labels"):
        read_digits(file, hashlib.sha256(buffer.getvalue()).hexdigest())
    assert not (tmp_path / "boom").exists()
    file.write_bytes(b"no archive")
    with pytest.raises(DataError, match="not an archive"):
        read_digits(file, hashlib.sha256(b"no archive").hexdigest())
