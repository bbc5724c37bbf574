"""Pictures, text, and the files of Fashion-MNIST."""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from munet.data.dataset import DataError
from munet.data.fashion import DEBIAN, checked, fashion_mnist, read_idx
from munet.data.pictures import drawn_picture, picture, picture_folder
from munet.data.synthetic import blobs, regression
from munet.data.text import vocabulary, windows


def test_one_picture(tmp_path: Path):
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3) * 10
    path = tmp_path / "small.png"
    Image.fromarray(pixels).save(path)
    data = picture(str(path), 64).train
    assert (data["y"].reshape(2, 3, 3) == (pixels / np.float32(255)).astype(np.float32)).all()
    np.testing.assert_allclose(data["x"][:3], [[-2 / 3, -0.5], [0, -0.5], [2 / 3, -0.5]], atol=1e-7)
    assert picture(str(path), 1).train["y"].shape == (1, 3)
    assert picture("", 32).train["x"].shape == (1024, 2)
    assert (drawn_picture(32) == drawn_picture(32)).all()


def test_pictures_that_are_refused(tmp_path: Path):
    path = tmp_path / "picture.png"
    path.write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"picture.png: not a picture that can be read"):
        picture(str(path), 64)
    buffer = io.BytesIO()
    Image.fromarray(np.zeros((40, 40, 3), np.uint8)).save(buffer, "PNG")
    path.write_bytes(buffer.getvalue()[:60])
    with pytest.raises(DataError, match="not a picture that can be read"):
        picture(str(path), 64)
    path.write_bytes(bomb(60_000, 60_000))
    with pytest.raises(DataError, match=r"picture.png: "):
        picture(str(path), 64)
    path.write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 5\n")
    with pytest.raises(DataError, match="not a picture that can be read"):
        picture(str(path), 64)


def bomb(width: int, height: int) -> bytes:
    """A PNG that says it has many pixels."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b"")]
    parts = [struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def test_a_folder_of_pictures(tmp_path: Path):
    for name, grey in (("dark", 20), ("light", 230)):
        (tmp_path / name).mkdir()
        for i in range(5):
            Image.fromarray(np.full((7 + i, 9, 3), grey + i, np.uint8)).save(tmp_path / name / f"{i}.png")
    (tmp_path / "dark" / "notes.txt").write_text("no picture")
    dataset = picture_folder(str(tmp_path), 4, grey=True, held_out=0.2)
    assert (dataset.train["image"].shape, dataset.test["image"].shape) == ((8, 1, 4, 4), (2, 1, 4, 4))
    for part in (dataset.train, dataset.test):
        assert ((part["image"].mean(axis=(1, 2, 3)) > 100) == (part["label"] == 1)).all()
    assert picture_folder(str(tmp_path), 4, grey=False, held_out=0.0).train["image"].shape == (10, 3, 4, 4)
    outside = tmp_path.parent / f"{tmp_path.name} outside.png"
    Image.fromarray(np.zeros((3, 3, 3), np.uint8)).save(outside)
    (tmp_path / "dark" / "link.png").symlink_to(outside)
    with pytest.raises(DataError, match="a link that leads out of"):
        picture_folder(str(tmp_path), 4, grey=True, held_out=0.2)
    with pytest.raises(DataError, match="there is no folder"):
        picture_folder(str(tmp_path / "none"), 4, grey=True, held_out=0.2)
    with pytest.raises(DataError, match="it holds 0 folders"):
        picture_folder(str(tmp_path / "light"), 4, grey=True, held_out=0.2)


def test_text_as_windows(tmp_path: Path):
    path = tmp_path / "text.txt"
    path.write_text("abcabd\u00e9abcabd\u00e9", encoding="utf-8")
    letters = vocabulary(str(path))
    assert letters == "abcd\u00e9"
    dataset = windows(str(path), 3, 2, 0.0)
    words = ["".join(letters[i] for i in row) for row in dataset.train["x"].tolist()]
    ahead = ["".join(letters[i] for i in row) for row in dataset.train["y"].tolist()]
    assert words == ["abc", "cab", "bd\u00e9", "\u00e9ab", "bca", "abd"]
    assert ahead == ["bca", "abd", "d\u00e9a", "abc", "cab", "bd\u00e9"]
    with pytest.raises(DataError, match="14 characters to train on, but a window takes 21"):
        windows(str(path), 20, 1, 0.0)


def test_the_text_that_ships():
    assert len(vocabulary()) == 61
    dataset = windows("", 64, 1, 0.1)
    assert dataset.train["x"].shape[1] == dataset.test["x"].shape[1] == 64
    assert dataset.test_count > 100
    with pytest.raises(DataError, match="give `every` a larger number"):
        windows("", 4000, 1, 0.1)


def test_fashion_says_how_to_get_it(tmp_path: Path):
    with pytest.raises(DataError, match=r"has no train-images-idx3-ubyte.gz, .*apt install dataset-fashion-mnist"):
        fashion_mnist(str(tmp_path))
    path = tmp_path / "train-labels-idx1-ubyte.gz"
    path.write_bytes(gzip.compress(b"other"))
    with pytest.raises(DataError, match=r"SHA-256 is .*… was published"):
        checked(path, "0" * 64)


def test_idx_files():
    content = b"\0\0\x08\x02" + struct.pack(">II", 2, 3) + bytes(range(6))
    assert read_idx(content).tolist() == [[0, 1, 2], [3, 4, 5]]
    for wrong in (b"", b"\0\0\x0d\x01" + bytes(8), content[:-1], content + b"\0", content[:9], b"\0\0\x08\x03" + b"\xff" * 12):
        with pytest.raises(DataError, match="IDX"):
            read_idx(wrong)


@pytest.mark.skipif(not Path(DEBIAN).is_dir(), reason=f"dataset-fashion-mnist is not installed: {DEBIAN} is missing")
def test_fashion_itself():
    dataset = fashion_mnist()
    assert (dataset.train_count, dataset.test_count) == (60_000, 10_000)
    assert np.bincount(dataset.test["label"]).tolist() == [1000] * 10


def test_clouds_and_curves():
    dataset = blobs(classes=4, points=500, features=3, spread=0.1, seed=2)
    assert dataset.train["x"].shape == dataset.test["x"].shape == (2000, 3)
    for label in range(4):
        cloud = dataset.train["x"][dataset.train["label"] == label]
        np.testing.assert_allclose(cloud.std(axis=0), 0.1, rtol=0.15)
        np.testing.assert_allclose(cloud.mean(axis=0), dataset.test["x"][dataset.test["label"] == label].mean(axis=0), atol=0.03)
    curve = regression(count=1000, features=1, noise=0.0).train
    np.testing.assert_allclose(np.abs(curve["y"]), np.abs(np.sin(3 * curve["x"])), atol=1e-6)
    assert not np.intersect1d(curve["x"], regression(count=1000, features=1, noise=0.0).test["x"]).size
    for make in (
        lambda: blobs(classes=0),
        lambda: blobs(spread=-1),
        lambda: regression(count=0),
        lambda: regression(noise=np.nan),
    ):
        with pytest.raises(DataError):
            make()
