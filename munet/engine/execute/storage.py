"""Host arrays as the bytes of device buffers, and back: the dtype table says how elements are stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from munet.engine.dtypes import DType
from munet.engine.execute.base import Array
from munet.engine.ir.module import Shape


def stored_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype of a buffer's elements: a bool takes a whole word there."""
    return np.dtype(np.uint32) if dtype.name == "bool" else dtype.host


def to_stored(array: Array, dtype: DType) -> Array:
    """The elements as a buffer holds them."""
    return np.asarray(array).astype(stored_dtype(dtype), copy=False)


def from_stored(content: Any, dtype: DType, shape: Shape) -> Array:
    """A host array over the bytes of a buffer; shares them unless the dtype is stored otherwise than on the host."""
    array = np.frombuffer(content, stored_dtype(dtype)).reshape(shape)
    return array if array.dtype == dtype.host else array.astype(dtype.host)
