"""Tables from files: read rightly, and refused with their place where they are wrong or hostile."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from munet.data.dataset import DataError
from munet.data.tables import csv_table, iris, npz_table, read_npz, read_table


def written(folder: Path, content: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_iris():
    dataset = iris()
    assert (dataset.train["x"].shape, dataset.test["x"].shape) == ((120, 4), (30, 4))
    assert np.bincount(np.concatenate([dataset.train["label"], dataset.test["label"]])).tolist() == [50, 50, 50]
    assert len(set(dataset.test["label"].tolist())) == 3
    np.testing.assert_allclose(dataset.train["x"].mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(dataset.train["x"].std(axis=0), 1, atol=1e-6)


def test_a_table_with_words_for_a_target(tmp_path: Path):
    path = written(tmp_path, "a;kind;b\n1;cat;2\n3;dog;4\n\n5;cat;6\n")
    dataset = read_table(path, "kind", 0.0, standardise=False)
    assert dataset.test_count == 0
    rows = {tuple(row): label for row, label in zip(dataset.train["x"].tolist(), dataset.train["label"].tolist(), strict=True)}
    assert rows == {(1.0, 2.0): 0, (3.0, 4.0): 1, (5.0, 6.0): 0}
    assert (dataset.train["y"][:, 0] == dataset.train["label"]).all()


def test_a_table_of_numbers_without_names(tmp_path: Path):
    path = written(tmp_path, "\ufeff1,10,0.5\n2,10,-1.5\n3,10,10\n4,10,0.5\n")
    dataset = csv_table(str(path), "", 0.25, standardise=True)
    assert (dataset.train_count, dataset.test_count) == (3, 1)
    assert sorted(np.concatenate([dataset.train["y"], dataset.test["y"]])[:, 0].tolist()) == [-1.5, 0.5, 0.5, 10.0]
    assert set(np.concatenate([dataset.train["label"], dataset.test["label"]]).tolist()) == {0, 1, 2}
    assert (dataset.train["x"][:, 1] == 0).all()  # a constant column has no deviation to divide by
    assert csv_table(str(path), "0", 0.0, standardise=False).train["y"].max() == 4


@pytest.mark.parametrize(
    ("content", "target", "message"),
    [
        ("", "", "the table is empty"),
        ("a,b\n", "", "nothing below the names"),
        ("a,b\n1,2\n3\n", "", "line 3 has 1 cells, the first one 2"),
        ("a,b\n1,2\nx,4\n", "b", 'line 3, column "a": "x" is not a number'),
        ("1,2\nnan,4\n", "", 'line 2, column "0": "nan" is not a number'),
        ("a,b\n1,2\n", "c", 'there is no column "c"; columns: a, b'),
        ("a\n1\n", "", "only one column"),
        ('a,b\n1,"2\n', "", "not a table"),
    ],
)
def test_wrong_tables_are_refused(tmp_path: Path, content: str, target: str, message: str):
    path = written(tmp_path, content)
    with pytest.raises(DataError, match=message) as raised:
        read_table(path, target, 0.0, standardise=False)
    assert "table.csv" in str(raised.value)


def test_files_that_are_not_there(tmp_path: Path):
    with pytest.raises(DataError, match=r'there is no table "none.csv" in .*relative names count from'):
        csv_table("none.csv", "", 0.0, standardise=False)
    with pytest.raises(DataError, match="no table is named"):
        csv_table("", "", 0.0, standardise=False)
    with pytest.raises(DataError, match="is not the name of a file"):
        csv_table("a\0b", "", 0.0, standardise=False)
    path = tmp_path / "latin.csv"
    path.write_bytes(b"a,b\n1,\xe9\n")
    with pytest.raises(DataError, match="byte 6 is not text in UTF-8"):
        csv_table(str(path), "", 0.0, standardise=False)


# -- archives --------------------------------------------------------------------------------------------------------------


def test_an_archive(tmp_path: Path):
    path = tmp_path / "data.npz"
    x, y = np.arange(24, dtype=np.float64).reshape(8, 3), np.arange(8)
    np.savez_compressed(path, x=np.asfortranarray(x), y=y)
    dataset = npz_table(str(path), "x", "y", 0.25)
    assert (dataset.train["x"].dtype, dataset.train["y"].dtype) == (np.float32, np.int32)
    assert (dataset.train_count, dataset.test_count) == (6, 2)
    for part in (dataset.train, dataset.test):
        assert (part["x"][:, 0] == part["y"] * 3).all()
    np.savez(path, x=x, y=y, x_test=x[:2], y_test=y[:2])
    assert npz_table(str(path), "x", "y", 0.5).test["y"].tolist() == [0, 1]
    with pytest.raises(DataError, match='there is no array "z"; arrays: x, y'):
        npz_table(str(path), "x", "z", 0.5)
    np.savez(path, x=x, y=y[:3])
    with pytest.raises(DataError, match='"x" has 8, "y" has 3'):
        npz_table(str(path), "x", "y", 0.5)


def archive(path: Path, name: str, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return path


def header(description: str) -> bytes:
    text = description.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


class Bomb:
    """Unpickling one would write a file."""

    def __init__(self, target: Path):
        self.target = target

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.target,))


def test_hostile_archives(tmp_path: Path):
    path, target = tmp_path / "data.npz", tmp_path / "boom"
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb(target)], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="holds Python objects"):
        read_npz(archive(path, "x.npy", buffer.getvalue()))
    assert not target.exists()
    huge = header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}")
    with pytest.raises(DataError, match="would unpack to 8000000000000 bytes"):
        read_npz(archive(path, "x.npy", huge))
    with pytest.raises(DataError, match="would unpack to"):
        read_npz(archive(path, "x.npy", header("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}") + bytes(80)))
    with pytest.raises(DataError, match="has 16 bytes, but"):
        read_npz(archive(path, "x.npy", header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}") + bytes(16)))
    with pytest.raises(DataError, match="its header cannot be read"):
        read_npz(archive(path, "x.npy", header("__import__('os').getcwd()")))
    with pytest.raises(DataError, match="a column holds numbers"):
        read_npz(archive(path, "x.npy", header("{'descr': '<U3', 'fortran_order': False, 'shape': (1,)}") + bytes(12)))
    path.write_bytes(b"no archive")
    with pytest.raises(DataError, match="not an archive of arrays"):
        read_npz(path)


def test_names_in_an_archive_are_never_paths(tmp_path: Path):
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3.0))
    inner = tmp_path / "inner"
    inner.mkdir()
    arrays = read_npz(archive(inner / "data.npz", "../../x.npy", buffer.getvalue()))
    assert list(arrays) == ["../../x"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["data.npz", "inner"]
