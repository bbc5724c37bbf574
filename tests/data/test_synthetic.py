"""Data made by rule, and the checks of Dataset itself."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from munet.data.dataset import DataError, Dataset
from munet.data.synthetic import spiral, xor


def test_xor_is_exclusive_or():
    dataset = xor()
    assert dataset.train["y"][:, 0].tolist() == [0, 1, 1, 0]
    assert dataset.train["x"].tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert dataset.test["x"] is not None


def test_spiral_arms():
    dataset = spiral(classes=3, points=101, noise=0.0, seed=5)
    x, label = dataset.train["x"].astype(np.float64), dataset.train["label"]
    assert np.bincount(label).tolist() == [101, 101, 101]
    radius = np.hypot(x[:, 0], x[:, 1])
    turn = np.arctan2(x[:, 1], x[:, 0]) / (2 * np.pi)
    off = (turn - radius - label / 3 + 0.5) % 1 - 0.5
    assert np.abs(off * radius).max() < 1e-6
    assert dataset.test["x"].shape == (303, 2)
    assert not np.intersect1d(dataset.train["x"], dataset.test["x"]).size


def test_spiral_noise_has_the_stated_deviation():
    exact, noisy = (spiral(points=1667, noise=noise).train["x"].astype(np.float64) for noise in (0.0, 0.07))
    assert np.std(noisy - exact) == pytest.approx(0.07, rel=0.03)
    assert np.mean(noisy - exact) == pytest.approx(0.0, abs=0.003)


def test_spiral_depends_on_its_arguments_alone():
    first, again, other = (spiral(points=10, seed=seed).train["x"] for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes() != other.tobytes()
    rounded = np.rint(first.astype(np.float64) * 1e4).astype("<i4")  # the last bits of sin and log differ between machines
    assert hashlib.sha256(rounded.tobytes()).hexdigest()[:16] == "e17da9a6715e649c"
    assert spiral(points=10, seed=2**64 - 1).train["x"].tobytes() != spiral(points=10, seed=2**64 - 2).train["x"].tobytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"classes": 0}, "1 to 256 classes, not 0"),
        ({"points": 0}, "at least 1 point a class, not 0"),
        ({"noise": -0.1}, "at least 0, not -0.1"),
        ({"noise": float("nan")}, "at least 0, not nan"),
    ],
)
def test_spiral_refuses(arguments: dict[str, float], message: str):
    with pytest.raises(DataError, match=message):
        spiral(**arguments)  # pyright: ignore[reportArgumentType]


def test_dataset_checks_its_columns():
    three, two = np.zeros((3, 2), np.float32), np.zeros((2, 2), np.float32)
    assert Dataset({"x": three}).test_count == 0
    with pytest.raises(DataError, match=r'differ in their number of samples: "x" has 3, "y" has 2'):
        Dataset({"x": three, "y": two})
    with pytest.raises(DataError, match=r"the train split has columns \['x'\], the test split \['y'\]"):
        Dataset({"x": three}, {"y": two})
    with pytest.raises(DataError, match=r'column "x" is float32\[2\] a sample in the train split, but float64\[2\] in the test'):
        Dataset({"x": three}, {"x": np.zeros((5, 2))})
    with pytest.raises(DataError, match="single number"):
        Dataset({"x": np.array(1.0)})
    with pytest.raises(DataError, match="Python objects"):
        Dataset({"x": np.array([None])})
    with pytest.raises(DataError, match="at least one column"):
        Dataset({})
