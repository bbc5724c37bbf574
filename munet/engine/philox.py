"""Philox4x32-10 in NumPy, bit for bit equal to `include/random.glsl`: keys and counters in, words, uniforms, normals out.

A stream is keyed by (seed, origin), a draw within it by (step, element): an edit elsewhere on the drawing changes no stream,
and a resumed run continues it. Uniforms, and masks `uniform < p`, agree with the device exactly, normals within 1e-6.
Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Key = tuple[int, int]

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW, _WORD = np.uint64(0xFFFFFFFF), np.uint64(32)
_ROUNDS = 10


def stream_key(seed: int, origin: tuple[str, ...]) -> Key:
    """The key of the stream that belongs to `origin`: a hash, equal on every machine. Any integer is a seed."""
    digest = hashlib.blake2b(repr((int(seed), *map(str, origin))).encode(), digest_size=8).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")


def philox(counter: Array, key: Key) -> Array:
    """Four independent words for each counter: uint32 [..., 4] to uint32 [..., 4]."""
    x0, x1, x2, x3 = (np.asarray(counter[..., i]).astype(np.uint64) for i in range(4))
    k0, k1 = key
    for _ in range(_ROUNDS):
        product0, product1 = x0 * _MULTIPLIERS[0], x2 * _MULTIPLIERS[1]
        x0, x1 = (product1 >> _WORD) ^ x1 ^ np.uint64(k0), product1 & _LOW
        x2, x3 = (product0 >> _WORD) ^ x3 ^ np.uint64(k1), product0 & _LOW
        k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
    return np.stack([x0, x1, x2, x3], axis=-1).astype(np.uint32)


def random_words(key: Key, step: int, elements: int | Array) -> Array:
    """The words of some elements at one step, uint32 [n, 4]; `elements` are indices, or a count for 0 .. count - 1."""
    index = np.arange(elements, dtype=np.uint32) if isinstance(elements, int) else np.asarray(elements, np.uint32)
    counter = np.zeros((*index.shape, 4), np.uint32)
    counter[..., 0] = index
    counter[..., 2] = step
    return philox(counter, key)


def to_uniform(words: Array) -> Array:
    """f32 multiples of 2^-24 in [0, 1), from uint32 words of any shape."""
    return (words >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def to_normal(words: Array) -> Array:
    """Standard normals, f32 [...], from the first two of the words [..., 2 or more] (Box and Muller, the cosine branch)."""
    radius = np.sqrt(-2.0 * np.log(((words[..., 0] >> 8) + 1.0) * 2.0**-24))
    return (radius * np.cos((words[..., 1] >> 8) * (2.0 * np.pi * 2.0**-24))).astype(np.float32)


def uniform(key: Key, step: int, count: int) -> Array:
    """f32 [count] in [0, 1): word 0 of each element."""
    return to_uniform(random_words(key, step, count)[:, 0])


def normal(key: Key, step: int, count: int) -> Array:
    """f32 [count], mean 0 and variance 1: words 0 and 1 of each element."""
    return to_normal(random_words(key, step, count))
