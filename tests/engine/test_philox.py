"""philox.py: Random123's known answers, streams that do not depend on each other, exact uniforms, the shape of the normals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from munet.engine import philox

# kat_vectors of Random123, philox 4x32 10: counter, key, words
KNOWN = [
    ([0, 0, 0, 0], (0, 0), [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, (0xFFFFFFFF, 0xFFFFFFFF), [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        (0xA4093822, 0x299F31D0),
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_known_answers(counter: list[int], key: philox.Key, words: list[int]) -> None:
    assert philox.philox(np.array(counter, np.uint32), key).tolist() == words


def test_any_leading_shape_and_no_change_of_the_counter() -> None:
    counter = np.array([known[0] for known in KNOWN], np.uint32)
    before = counter.copy()
    words = philox.philox(counter.reshape(3, 1, 4), (0, 0))
    assert words.shape == (3, 1, 4)
    assert words.dtype == np.uint32
    assert words[0, 0].tolist() == KNOWN[0][2]
    np.testing.assert_array_equal(counter, before)
    assert philox.philox(np.zeros((0, 4), np.uint32), (1, 2)).shape == (0, 4)


def test_stream_key_is_stable_and_separates_seeds_and_origins() -> None:
    assert philox.stream_key(0, ("linear 1", "weight")) == (1475323903, 2937755585)
    origins = [(), ("a",), ("b",), ("a", "b"), ("ab",), ("a,b",), ("a', 'b",)]
    keys = {philox.stream_key(seed, origin) for seed in (0, 1, -1, 2**70) for origin in origins}
    assert len(keys) == 4 * len(origins)


def test_a_draw_depends_on_its_step_and_element_only() -> None:
    key = philox.stream_key(3, ("noise",))
    whole = philox.random_words(key, 5, 101)
    np.testing.assert_array_equal(philox.random_words(key, 5, np.array([100, 7, 7])), whole[[100, 7, 7]])
    assert not np.array_equal(philox.random_words(key, 6, 101), whole)
    assert philox.random_words(key, 5, 0).shape == (0, 4)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50))
def test_uniforms_are_multiples_of_one_in_two_to_the_24(bits: list[int]) -> None:
    u = philox.to_uniform(np.array(bits, np.uint32))
    assert u.dtype == np.float32
    assert [float(value) for value in u] == [(value >> 8) / 2**24 for value in bits]
    assert (u < 1).all()


def test_the_extreme_words_give_finite_normals() -> None:
    words = np.array([[0, 0], [0, 2**31], [2**32 - 1, 0], [2**32 - 1, 2**32 - 1]], np.uint32)
    z = philox.to_normal(words)
    assert z[0] == pytest.approx(np.sqrt(48 * np.log(2)))
    assert z[1] == -z[0]
    assert (z[2:] == 0).all()


def test_moments_of_a_stream() -> None:
    key = philox.stream_key(17, ("init",))
    n = 200_003
    u, z = philox.uniform(key, 0, n).astype(np.float64), philox.normal(key, 1, n).astype(np.float64)
    # five standard errors each
    assert abs(u.mean() - 1 / 2) < 5 / np.sqrt(12 * n)
    assert abs(u.var() - 1 / 12) < 5 / np.sqrt(180 * n)
    assert abs(z.mean()) < 5 / np.sqrt(n)
    assert abs(z.var() - 1) < 5 * np.sqrt(2 / n)
    assert abs((z**4).mean() - 3) < 5 * np.sqrt(96 / n)
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 5 / np.sqrt(n)
