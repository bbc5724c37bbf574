"""Data sets made by rule: exclusive or, intertwined spirals, clouds, a curve.

The same arguments give the same points on every machine.
"""

from __future__ import annotations

import numpy as np

from munet.data.dataset import Array, DataError, Dataset


def xor() -> Dataset:
    """The four points of exclusive or: `x` f32 [4, 2] of 0 and 1, `y` f32 [4, 1]. Held out are the same four points."""
    x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float32)
    columns = {"x": x, "y": np.logical_xor(x[:, :1], x[:, 1:]).astype(np.float32)}
    return Dataset(train=columns, test=columns)


def spiral(classes: int = 3, points: int = 200, noise: float = 0.1, seed: int = 0) -> Dataset:
    """`classes` arms that wind once round the origin: `x` f32 [n, 2] within about ±1, `label` u8 [n].

    n is classes · points: `points` counts those of one arm. Sample i belongs to arm i mod classes. `noise` is the standard
    deviation added to each coordinate.
    The held-out points lie on the same arms at other radii and with other noise.
    Raises DataError for fewer than 1 or more than 256 classes, less than one point, or negative noise.
    """
    if not 1 <= classes <= 256:
        raise DataError(f"a spiral has 1 to 256 classes, not {classes}")
    if points < 1:
        raise DataError(f"a spiral has at least 1 point a class, not {points}")
    if not 0 <= noise < np.inf:
        raise DataError(f"the noise of a spiral is at least 0, not {noise}")
    return Dataset(train=_arms(classes, points, noise, seed, split=0), test=_arms(classes, points, noise, seed, split=1))


def _arms(classes: int, points: int, noise: float, seed: int, split: int) -> dict[str, Array]:
    uniform = _uniforms(3 * classes * points, seed, split).reshape(3, classes * points)
    label = np.arange(classes * points) % classes
    radius = uniform[0]
    angle = 2 * np.pi * (radius + label / classes)
    # Box-Muller: two normals from two uniforms; 1 - u keeps the logarithm's argument above 0.
    spread = noise * np.sqrt(-2 * np.log(1 - uniform[1]))
    x = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    x += np.stack([spread * np.cos(2 * np.pi * uniform[2]), spread * np.sin(2 * np.pi * uniform[2])], axis=1)
    return {"x": x.astype(np.float32), "label": label.astype(np.uint8)}


def _uniforms(count: int, seed: int, stream: int) -> Array:
    """`count` numbers of [0, 1) with 53 bits, f64. Raw Philox words: NumPy promises those stay, unlike its distributions."""
    key = np.array([seed % 2**64, stream], dtype=np.uint64)  # a list would pass through float and lose bits
    words = np.random.Philox(key=key).random_raw(count)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def blobs(classes: int = 3, points: int = 100, features: int = 2, spread: float = 0.3, seed: int = 0) -> Dataset:
    """Round clouds of points, one a class: `x` f32 [classes · points, features], `label` u8. `spread` is their deviation.

    Their centres are drawn evenly from ±1; the held-out points belong to the same clouds.
    Raises DataError for fewer than 1 or more than 256 classes, less than one point or feature, or a negative spread.
    """
    if not 1 <= classes <= 256 or points < 1 or features < 1:
        raise DataError(f"there are 1 to 256 clouds of at least 1 point and 1 feature, not {classes}, {points}, {features}")
    if not 0 <= spread < np.inf:
        raise DataError(f"the spread of a cloud is at least 0, not {spread}")
    centres = 2 * _uniforms(classes * features, seed, 2).reshape(classes, features) - 1
    label = np.arange(classes * points) % classes
    parts = [
        centres[label] + spread * _normals(label.size * features, seed, 4 + 2 * part).reshape(-1, features) for part in (0, 1)
    ]
    train, test = ({"x": x.astype(np.float32), "label": label.astype(np.uint8)} for x in parts)
    return Dataset(train, test)


def regression(count: int = 200, features: int = 1, noise: float = 0.1, seed: int = 0) -> Dataset:
    """A smooth curve with noise: `x` f32 [count, features] evenly from ±1, `y` f32 [count, 1] = sin(3 w · x) + noise.

    w has length 1. Held out are as many other points. Raises DataError for fewer than one point or feature, or negative noise.
    """
    if count < 1 or features < 1:
        raise DataError(f"there is at least 1 point with 1 feature, not {count}, {features}")
    if not 0 <= noise < np.inf:
        raise DataError(f"the noise is at least 0, not {noise}")
    direction = _normals(features, seed, 20)
    direction /= np.linalg.norm(direction)
    parts: list[dict[str, Array]] = []
    for part in (0, 1):
        x = 2 * _uniforms(count * features, seed, 10 + part).reshape(count, features) - 1
        y = np.sin(3 * (x @ direction)) + noise * _normals(count, seed, 12 + 2 * part)
        parts.append({"x": x.astype(np.float32), "y": y[:, None].astype(np.float32)})
    return Dataset(*parts)


def _normals(count: int, seed: int, stream: int) -> Array:
    """Box-Muller, as above; uses the streams `stream` and `stream` + 1."""
    radius, turn = _uniforms(count, seed, stream), _uniforms(count, seed, stream + 1)
    return np.sqrt(-2 * np.log(1 - radius)) * np.cos(2 * np.pi * turn)
