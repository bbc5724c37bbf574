"""Tables of numbers: CSV files and NumPy archives, read as data and nothing else."""

from __future__ import annotations

import csv
import io
import math
import zipfile
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from munet.data.dataset import Array, DataError, Dataset
from munet.data.files import LARGEST_BYTES, find, read_text
from munet.data.splitting import split

IRIS = Path(__file__).with_name("iris.csv")
LARGEST_FIELD = 1 << 16


@cache
def iris() -> Dataset:
    """150 flowers: `x` f32 [n, 4] standardised lengths and widths, `label` u8 [n], 0 to 2; 30 are held out."""
    dataset = read_table(IRIS, "species", 0.2, standardise=True)
    columns = [{"x": part["x"], "label": part["label"].astype(np.uint8)} for part in (dataset.train, dataset.test)]
    return Dataset(*columns)


def csv_table(file: str, target: str, held_out: float, standardise: bool) -> Dataset:
    """As `read_table`, of a file that the user names."""
    return read_table(find(file, "table"), target, held_out, standardise=standardise)


def read_table(path: Path, target: str, held_out: float, *, standardise: bool) -> Dataset:
    """`x` f32 [n, columns but the target], `y` f32 [n, 1] the target, `label` i32 [n] its place among its distinct values.

    The first line may hold names. `target` is a name or a number from 0, "" the last column; its cells may be words, all
    others are numbers; where they are words, `y` is the label. `standardise` brings the columns of x to mean 0 and deviation 1,
    measured on what is trained on. Raises DataError naming line and column.
    """
    names, rows, first_line = _cells(path)
    which = _target(path, names, target)
    words = [row[which] for row in rows]
    kept = [column for column in range(len(names)) if column != which]
    x = np.array([[_number(path, row[c], first_line + i, names[c]) for c in kept] for i, row in enumerate(rows)], np.float64)
    distinct = sorted(set(words), key=_by_number)
    label = np.array([distinct.index(word) for word in words] if len(distinct) < 1000 else _places(words, distinct), np.int32)
    numeric = all(_is_number(word) for word in distinct)
    y = np.array([float(word) for word in words] if numeric else label, np.float32)
    parts = split({"x": x.reshape(len(rows), len(kept)), "y": y[:, None], "label": label}, held_out)
    train, test = dict(parts.train), dict(parts.test)
    mean, deviation = train["x"].mean(axis=0), train["x"].std(axis=0)
    for part in (train, test):
        if part:
            part["x"] = ((part["x"] - mean) / np.where(deviation > 0, deviation, 1) if standardise else part["x"]).astype(
                np.float32
            )
    return Dataset(train, test)


def _cells(path: Path) -> tuple[list[str], list[list[str]], int]:
    """Names of the columns, the rows below, and the line number of the first of these."""
    text = read_text(path)
    head = text.partition("\n")[0]
    separator = max(",;\t", key=head.count)
    csv.field_size_limit(LARGEST_FIELD)
    try:
        lines = list(csv.reader(io.StringIO(text), delimiter=separator, strict=True))
    except csv.Error as error:
        raise DataError(f"{path}: not a table: {error}") from error
    rows = [[cell.strip() for cell in row] for row in lines if row]
    if not rows:
        raise DataError(f"{path}: the table is empty")
    has_names = not any(_is_number(cell) for cell in rows[0])
    names = rows[0] if has_names else [str(column) for column in range(len(rows[0]))]
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise DataError(f"{path}: line {number} has {len(row)} cells, the first one {len(names)}")
    rows = rows[1:] if has_names else rows
    if not rows:
        raise DataError(f"{path}: there is nothing below the names of the columns")
    if len(names) < 2:
        raise DataError(f"{path}: there is only one column; a target and something to tell it from make two")
    return names, rows, 2 if has_names else 1


def _target(path: Path, names: Sequence[str], target: str) -> int:
    if target in names:
        return names.index(target)
    if not target:
        return len(names) - 1
    if target.isdecimal() and int(target) < len(names):
        return int(target)
    raise DataError(f'{path}: there is no column "{target}"; columns: {", ".join(names[:20])}')


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _number(path: Path, word: str, line: int, column: str) -> float:
    number = float(word) if _is_number(word) else math.nan
    if not math.isfinite(number) or abs(number) > 3e38:
        raise DataError(f'{path}: line {line}, column "{column}": "{word[:40]}" is not a number that f32 holds')
    return number


def _by_number(word: str) -> tuple[float, str]:
    return (float(word), word) if _is_number(word) else (math.inf, word)


def _places(words: Sequence[str], distinct: Sequence[str]) -> list[int]:
    place = {word: i for i, word in enumerate(distinct)}
    return [place[word] for word in words]


# -- NumPy archives ---------------------------------------------------------------------------------------------------------


def npz_table(file: str, x: str, y: str, held_out: float) -> Dataset:
    """Arrays `x` and `y` of an archive; "<name>_test" beside them are what is held out, else a share of the rows is."""
    path = find(file, "archive")
    arrays = read_npz(path)
    for name in (x, y):
        if name not in arrays:
            raise DataError(f'{path}: there is no array "{name}"; arrays: {", ".join(list(arrays)[:20])}')
    columns = {"x": _usable(path, x, arrays[x]), "y": _usable(path, y, arrays[y])}
    if f"{x}_test" in arrays and f"{y}_test" in arrays:
        test = {"x": _usable(path, f"{x}_test", arrays[f"{x}_test"]), "y": _usable(path, f"{y}_test", arrays[f"{y}_test"])}
        return Dataset(columns, test)
    Dataset(columns)  # checks that the rows are as many
    return split(columns, held_out)


def read_npz(path: Path) -> dict[str, Array]:
    """All arrays of an archive. Nothing is unpickled, and no more is unpacked than its headers and LARGEST_BYTES allow."""
    arrays: dict[str, Array] = {}
    left = LARGEST_BYTES
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.filename.endswith(".npy"):
                    array = _read_array(path, archive, entry, left)
                    left -= array.nbytes
                    arrays[entry.filename.removesuffix(".npy")] = array
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise DataError(f"{path}: not an archive of arrays: {error}") from error
    return arrays


def _read_array(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, left: int) -> Array:
    place = f'{path}: array "{entry.filename[:60]}"'
    with archive.open(entry) as file:
        try:
            version = np.lib.format.read_magic(file)
            header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
            shape, fortran, dtype = header(file)
        except (ValueError, KeyError) as error:
            raise DataError(f"{place}: its header cannot be read: {error}") from error
        if dtype.hasobject or dtype.kind not in "biuf":
            raise DataError(f"{place} holds {'Python objects' if dtype.hasobject else dtype}; a column holds numbers")
        size = math.prod(shape) * dtype.itemsize
        if any(length < 0 for length in shape) or size > left:
            raise DataError(f"{place} would unpack to {size} bytes, more than the {LARGEST_BYTES} an archive may have")
        content = file.read(size)
    if len(content) != size:
        raise DataError(f"{place} has {len(content)} bytes, but {list(shape)} of {dtype} are {size}")
    array = np.frombuffer(content, dtype)
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)


def _usable(path: Path, name: str, array: Array) -> Array:
    """As a dtype that devices compute with: f32, i32, u32, u8 or bool."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "b" or array.dtype in (np.float32, np.int32, np.uint32, np.uint8):
        return np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    if kind == "f":
        return np.ascontiguousarray(array, np.float32)
    if size > 4 and array.size and not (array.min() >= -(2**31) and array.max() < 2**31):
        raise DataError(f'{path}: array "{name}" holds {array.dtype} beyond 32 bits')
    return np.ascontiguousarray(array, np.int32)
