"""The dtype table: name, NumPy meaning, width, and how a kernel holds and stores it.

`register` is the GLSL type a kernel computes with; `storage` the GLSL type of the elements of the buffer it is kept in.
u8 data is kept as bytes packed four to a `uint`, so that images stay small on any device; bool is kept as one `uint`.
Storage that a device lacks is `transforms/legalise.py`'s business; what has no register type yet is refused there by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DType:
    """One element type. `itemsize` is bytes in host arrays; `stored_bits` is bits an element takes in a device buffer."""

    name: str
    kind: str  # "float", "int", "uint" or "bool"
    bits: int
    numpy: np.dtype[Any] | None  # None where NumPy has no such type
    register: str  # GLSL type in registers, "" if kernels cannot compute with it yet
    stored_bits: int
    doc: str

    def __str__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def host(self) -> np.dtype[Any]:
        """The NumPy dtype of host arrays; raises TypeError where NumPy has none."""
        if self.numpy is None:
            raise TypeError(f"NumPy has no dtype for {self.name}")
        return self.numpy


def _row(name: str, kind: str, bits: int, register: str, stored_bits: int, doc: str, numpy: Any = "") -> DType:
    host = None if numpy is None else np.dtype(numpy or {"bool": "bool"}.get(name, f"{kind}{bits}"))
    return DType(name, kind, bits, host, register, stored_bits, doc)


TABLE = (
    _row("f64", "float", 64, "", 64, "reference precision; judges kernels on the host"),
    _row("f32", "float", 32, "float", 32, "the default"),
    _row("f16", "float", 16, "", 16, "half precision: 11 bits of mantissa, largest 65504"),
    _row("bf16", "float", 16, "", 16, "f32's range with 8 bits of mantissa", None),
    _row("i64", "int", 64, "", 64, "whole numbers; ONNX's index type"),
    _row("i32", "int", 32, "int", 32, "whole numbers and indices"),
    _row("i16", "int", 16, "", 16, "whole numbers"),
    _row("i8", "int", 8, "", 8, "whole numbers; quantised weights"),
    _row("u64", "uint", 64, "", 64, "whole numbers from 0"),
    _row("u32", "uint", 32, "uint", 32, "whole numbers from 0; random bits"),
    _row("u16", "uint", 16, "", 16, "whole numbers from 0"),
    _row("u8", "uint", 8, "uint", 8, "images and labels as they come; widened where it is used"),
    _row("i4", "int", 4, "", 4, "quantised weights", None),
    _row("u4", "uint", 4, "", 4, "quantised weights", None),
    _row("bool", "bool", 1, "bool", 32, "true or false"),
)
BY_NAME = {dtype.name: dtype for dtype in TABLE}

F64, F32, F16, BF16 = (BY_NAME[name] for name in ("f64", "f32", "f16", "bf16"))
I64, I32, I16, I8 = (BY_NAME[name] for name in ("i64", "i32", "i16", "i8"))
U64, U32, U16, U8 = (BY_NAME[name] for name in ("u64", "u32", "u16", "u8"))
BOOL = BY_NAME["bool"]


def of_array(array: np.ndarray[Any, Any]) -> DType:
    """The dtype of a host array; raises TypeError for one the table lacks (objects, strings, complex)."""
    for dtype in TABLE:
        if dtype.numpy is not None and dtype.numpy == array.dtype:
            return dtype
    raise TypeError(f"no dtype for NumPy {array.dtype}; known: {', '.join(BY_NAME)}")
