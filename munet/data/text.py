"""Text as windows of characters: each sample is a stretch of text, and the same stretch one character later."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from munet.data.dataset import Array, DataError, Dataset
from munet.data.files import find, read_text

SHAKESPEARE = Path(__file__).with_name("shakespeare.txt")
LARGEST_ELEMENTS = 1 << 28  # of all windows together


def windows(file: str, length: int, every: int, held_out: float) -> Dataset:
    """`x` and `y` u8 [n, length]: the numbers of characters, y one character ahead of x. The end of the text is held out.

    A character's number is its place in `vocabulary`. `every` characters lie between the starts of windows.
    """
    text = _text(file)
    numbers = _numbers(text)
    cut = len(text) - round(len(text) * held_out)
    train, test = _cut(numbers[:cut], length, every), _cut(numbers[cut:], length, length)
    if not len(train["x"]):
        raise DataError(f"the text has {cut} characters to train on, but a window takes {length + 1}")
    if train["x"].size > LARGEST_ELEMENTS:
        raise DataError(f"the windows would hold {train['x'].size} characters; give `every` a larger number than {every}")
    train = {name: np.ascontiguousarray(array) for name, array in train.items()}
    return Dataset(train, {name: np.ascontiguousarray(array) for name, array in test.items()} if len(test["x"]) else {})


def vocabulary(file: str = "") -> str:
    """The distinct characters of a text, sorted."""
    return "".join(sorted(set(_text(file))))


def _text(file: str) -> str:
    return read_text(find(file, "text") if file else SHAKESPEARE)


def _numbers(text: str) -> Array:
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    distinct, numbers = np.unique(points, return_inverse=True)
    if len(distinct) > 256:
        raise DataError(f"the text has {len(distinct)} different characters; 256 are the most")
    return numbers.astype(np.uint8)


def _cut(numbers: Array, length: int, every: int) -> dict[str, Array]:
    if len(numbers) <= length:
        empty = np.empty((0, length), np.uint8)
        return {"x": empty, "y": empty}
    both = np.lib.stride_tricks.sliding_window_view(numbers, length + 1)[::every]
    return {"x": both[:, :-1], "y": both[:, 1:]}
