"""Places lifetimes in an arena: sizes and stretches in, byte offsets out.

Values whose lifetimes meet never overlap; offsets are multiples of the device's storage-buffer alignment.
Greedy by size, largest first, each at the lowest free offset: Pisarchyk and Lee 2020, arXiv 2001.03288.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from munet.engine.plan.lifetimes import Lifetime


def align(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def place(lifetimes: Sequence[Lifetime], alignment: int) -> tuple[list[int], int]:
    """Byte offsets in the order given, and the size of the arena."""
    offsets = [0] * len(lifetimes)
    # start, end, first and last level of what is placed, by start: looked through all at once, as thousands may lie there
    placed = np.empty((4, len(lifetimes)), np.int64)
    total = 0
    order = sorted(range(len(lifetimes)), key=lambda i: (-lifetimes[i].size_bytes, lifetimes[i].first, i))
    for count, i in enumerate(order):
        lifetime = lifetimes[i]
        size = align(max(lifetime.size_bytes, 16), alignment)
        starts, ends, firsts, lasts = placed[:, :count]
        meeting = (firsts <= lifetime.last) & (lasts >= lifetime.first)
        reached = np.maximum.accumulate(np.concatenate(([0], ends[meeting])))
        fits = np.flatnonzero(starts[meeting] - reached[:-1] >= size)
        offset = int(reached[fits[0]] if fits.size else reached[-1])
        offsets[i] = offset
        total = max(total, offset + size)
        position = int(np.searchsorted(starts, offset, side="right"))
        placed[:, position + 1 : count + 1] = placed[:, position:count].copy()
        placed[:, position] = (offset, offset + size, lifetime.first, lifetime.last)
    return offsets, total
