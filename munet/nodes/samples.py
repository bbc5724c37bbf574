"""Inputs for operator samples: seeded, never constant, away from kinks unless a sample is about one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def normal(*shape: int, seed: int = 7) -> Array:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def positive(*shape: int, seed: int = 7) -> Array:
    return np.random.default_rng([seed, *shape]).uniform(0.3, 3.0, size=shape)


def apart(*shape: int, seed: int = 7) -> Array:
    """Distinct values at least 0.05 apart and away from 0: no ties, no kinks."""
    count = math.prod(shape)
    order = np.random.default_rng([seed, *shape]).permutation(count)
    values = (order - count // 2 + 0.5) * 0.1
    return values.reshape(shape)


def whole(*shape: int, high: int, seed: int = 7) -> Array:
    return np.random.default_rng([seed, high, *shape]).integers(0, high, size=shape, dtype=np.int32)


def truths(*shape: int, seed: int = 7) -> Array:
    return np.random.default_rng([seed, *shape]).random(size=shape) < 0.5
