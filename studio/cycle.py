"""Going round in a list by a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def after(current: T, offered: Sequence[T], by: int = 1) -> T:
    """The next of what there is, round and round; from outside of it the first, or the last when going back."""
    if current in offered:
        return offered[(offered.index(current) + by) % len(offered)]
    return offered[0 if by > 0 else -1]
