"""Places lifetimes in an arena: sizes and stretches in, byte offsets out.

Values whose lifetimes meet never overlap; offsets are multiples of the device's storage-buffer alignment.
Greedy by size, largest first, each at the lowest free offset: Pisarchyk and Lee 2020, arXiv 2001.03288.
"""

from __future__ import annotations

from collections.abc import Sequence

from munet.engine.plan.lifetimes import Lifetime


def align(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def place(lifetimes: Sequence[Lifetime], alignment: int) -> tuple[list[int], int]:
    """Byte offsets in the order given, and the size of the arena."""
    offsets = [0] * len(lifetimes)
    placed: list[tuple[int, int, Lifetime]] = []  # (offset, end, lifetime), by offset
    total = 0
    order = sorted(range(len(lifetimes)), key=lambda i: (-lifetimes[i].size_bytes, lifetimes[i].first, i))
    for i in order:
        lifetime = lifetimes[i]
        size = align(max(lifetime.size_bytes, 16), alignment)
        offset = 0
        for start, end, other in placed:
            if not other.meets(lifetime):
                continue
            if start - offset >= size:
                break
            offset = max(offset, end)
        offsets[i] = offset
        total = max(total, offset + size)
        position = next((k for k, entry in enumerate(placed) if entry[0] > offset), len(placed))
        placed.insert(position, (offset, offset + size, lifetime))
    return offsets, total
