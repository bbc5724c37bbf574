"""Checkpoints: all states of a run and what it takes to go on with it, in one safetensors file.

Data only: nothing in such a file is ever executed. The file is written whole or not at all. Its metadata holds one JSON
object under "munet", `Header`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from munet.engine.errors import CheckpointError, ProjectError
from munet.engine.files import PathLike, read_file, write_file
from munet.engine.operator import Array
from munet.engine.version import VERSION

FORMAT = 1
HELD_OUT = "test."  # before the names of metrics of evaluations
_KEY = "munet"
_HEADER_BYTES = 100_000_000  # safetensors takes no longer header
_SHOWN = 5  # differences listed in an error


@dataclass(frozen=True)
class Header:
    """Everything of a run that is no array. `drawn` are the live values of the drawing, `live` those at the time of saving."""

    seed: int
    step: int
    live: Mapping[str, float] = field(default_factory=dict)
    drawn: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)  # of that very step, evaluations as "test.loss"
    device: str = ""
    project: str = ""  # the text of the project file
    project_sha256: str = ""
    version: str = VERSION
    format: int = FORMAT


def hash_of(project: str) -> str:
    return hashlib.sha256(project.encode()).hexdigest()


def write_checkpoint(path: PathLike, states: Mapping[str, Array], header: Header) -> None:
    """Replaces the file in one step; a crash leaves the old one. Raises ProjectError when it cannot be written."""
    write_file(path, safetensors.numpy.save(_contiguous(states), metadata={_KEY: json.dumps(asdict(header))}))


def read_checkpoint(path: PathLike) -> tuple[dict[str, Array], Header]:
    """States by name, and the header. Raises CheckpointError saying what is wrong with the file."""
    file = str(path)
    try:
        content = read_file(path, _size_of(file))
    except ProjectError as error:
        raise CheckpointError(f"{file}: {'; '.join(problem.found for problem in error.problems)}") from None
    try:
        arrays = safetensors.numpy.load(content)
        header = _header(content)
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{file}: this is no checkpoint of MuNet, or it is damaged ({error})") from None
    return arrays, header


def read_header(path: PathLike) -> Header:
    """The header alone, however large the file. Raises CheckpointError saying what is wrong with it."""
    file = str(path)
    try:
        with Path(file).open("rb") as stream:
            size = stream.read(8)
            content = size + stream.read(min(int.from_bytes(size, "little"), _HEADER_BYTES))
        return _header(content)
    except OSError as error:
        raise CheckpointError(f"{file}: it cannot be read ({error.strerror})") from None
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{file}: this is no checkpoint of MuNet, or it is damaged ({error})") from None


def read_arrays(path: PathLike) -> dict[str, Array]:
    """The arrays of any safetensors file, by name. Raises CheckpointError saying what is wrong with it."""
    file = str(path)
    try:
        return safetensors.numpy.load(read_file(path, _size_of(file)))
    except ProjectError as error:
        raise CheckpointError(f"{file}: {'; '.join(problem.found for problem in error.problems)}") from None
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{file}: this is no safetensors file, or it is damaged ({error})") from None


def write_arrays(path: PathLike, arrays: Mapping[str, Array]) -> None:
    """A safetensors file of arrays alone. Raises ProjectError when it cannot be written."""
    write_file(path, safetensors.numpy.save(_contiguous(arrays)))


def fitting(expected: Mapping[str, Array], found: Mapping[str, Array]) -> dict[str, Array]:
    """Those arrays that have the name, shape and dtype of an expected one."""
    same = (name for name in expected if name in found and found[name].shape == expected[name].shape)
    return {name: found[name] for name in same if found[name].dtype == expected[name].dtype}


def check_states(file: str, expected: Mapping[str, Array], found: Mapping[str, Array]) -> None:
    """Raises CheckpointError naming what differs: missing or unknown states, shapes, dtypes."""
    faults = [f"{name} is missing" for name in expected if name not in found]
    faults += [f"{name} is not in this project" for name in found if name not in expected]
    for name, array in expected.items():
        other = found.get(name)
        if other is not None and (other.shape, other.dtype) != (array.shape, array.dtype):
            faults.append(
                f"{name} is {other.dtype}{list(other.shape)} in the file, but {array.dtype}{list(array.shape)} in this project"
            )
    if faults:
        more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise CheckpointError(f"{file} does not fit this project: {'; '.join(faults[:_SHOWN])}{more}")


def _contiguous(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """A rank-0 array must stay one, so only those that need it are copied."""
    return {name: array if array.flags.c_contiguous else np.ascontiguousarray(array) for name, array in arrays.items()}


def _size_of(file: str) -> int:
    try:
        return Path(file).stat().st_size
    except (OSError, ValueError):
        return 0  # reading it says what is wrong


def _header(content: bytes) -> Header:
    length = int.from_bytes(content[:8], "little")  # safetensors: eight bytes of length, then JSON
    metadata = json.loads(content[8 : 8 + length])["__metadata__"]
    given = json.loads(metadata[_KEY])
    if not isinstance(given, dict) or type(given.get("format")) is not int:
        raise ValueError("its header has no format")
    if given["format"] != FORMAT:
        raise ValueError(f"its format is {given['format']}, this version reads {FORMAT}")
    header = Header(**{name: value for name, value in given.items() if name in Header.__dataclass_fields__})
    _check_header(header)
    return header


def _check_header(header: Header) -> None:
    numbers: list[Any] = [header.seed, header.step]
    if any(type(number) is not int for number in numbers) or header.step < 0:
        raise ValueError("its seed and step are not whole numbers")
    for table in (header.live, header.drawn, header.metrics):
        if not isinstance(table, dict) or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in table.values()):
            raise ValueError("its live values or metrics are not numbers")
