"""Automatic layout, aligning, distributing, snapping."""

from __future__ import annotations

import math
import time
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from studio.layout import align, arrange, distribute, snap


def overlaps(positions: dict[str, tuple[float, float]], sizes: dict[str, tuple[float, float]]) -> list[tuple[str, str]]:
    rects = sorted((x, y, x + sizes[i][0], y + sizes[i][1], i) for i, (x, y) in positions.items())
    found = []
    for place, a in enumerate(rects):
        for b in rects[place + 1 :]:
            if b[0] >= a[2]:
                break
            if a[1] < b[3] and b[1] < a[3]:
                found.append((a[4], b[4]))
    return found


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 25), st.lists(st.tuples(st.integers(0, 24), st.integers(0, 24)), max_size=50))
def test_nothing_overlaps_whatever_is_drawn(count: int, pairs: list[tuple[int, int]]):
    sizes = {f"n{i}": (150.0 + 7 * (i % 5), 60.0 + 13 * (i % 7)) for i in range(count)}
    edges = [(f"n{a}", f"n{b}") for a, b in pairs if a < count and b < count]
    positions = arrange(sizes, edges, (100.0, 50.0))
    assert positions.keys() == sizes.keys()
    assert overlaps(positions, sizes) == []
    assert all(math.isfinite(x) and math.isfinite(y) for x, y in positions.values())


def test_layout_ends_on_cycles():  # CASES 51
    sizes = dict.fromkeys("abc", (160.0, 80.0))
    positions = arrange(sizes, [("a", "b"), ("b", "c"), ("c", "a"), ("a", "a")])
    assert len({x for x, _ in positions.values()}) == 3


def test_wires_lead_to_the_right_and_a_chain_is_straight():
    sizes = {f"n{i}": (160.0, 80.0) for i in range(6)}
    edges = [(f"n{i}", f"n{i + 1}") for i in range(5)]
    positions = arrange(sizes, edges)
    assert all(positions[a][0] + 160 < positions[b][0] for a, b in edges)
    assert len({round(y, 6) for _, y in positions.values()}) == 1


def test_skip_connections_do_not_run_through_nodes():
    sizes = {f"n{i}": (160.0, 80.0) for i in range(7)}
    edges = [(f"n{i}", f"n{i + 1}") for i in range(6)]
    plain = arrange(sizes, edges)
    skipping = arrange(sizes, [*edges, ("n0", "n6")])
    # The lane of the long wire takes room: what it passes moves out of the line between its ends.
    line = (skipping["n0"][1] + skipping["n6"][1]) / 2 + 40
    between = [skipping[f"n{i}"][1] for i in range(2, 5)]
    assert all(not y < line < y + 80 for y in between)
    assert len({round(y) for _, y in plain.values()}) == 1


def test_a_thousand_nodes_in_two_seconds():
    sizes = {f"n{i}": (170.0, 90.0) for i in range(1000)}
    edges = [(f"n{i}", f"n{i + step}") for i in range(1000) for step in (1, 7, 31) if i + step < 1000 and (i % step == 0)]
    started = time.process_time()
    positions = arrange(sizes, edges)
    assert time.process_time() - started < 2
    assert len(positions) == 1000


def test_a_thousand_nodes_in_a_hundred_layers():
    sizes = {f"n{i}": (170.0, 90.0) for i in range(1000)}
    edges = [(f"n{i}", f"n{i + 10 + step}") for i in range(1000) for step in (0, 1, 23) if i + 10 + step < 1000]
    started = time.process_time()
    positions = arrange(sizes, edges)
    assert time.process_time() - started < 2
    assert overlaps(positions, sizes) == []


def test_aligning_distributing_and_snapping():
    rects = {"a": (0.0, 0.0, 100.0, 50.0), "b": (130.0, 20.0, 230.0, 90.0), "c": (400.0, 70.0, 520.0, 100.0)}
    assert {x for x, _ in align(rects, "left").values()} == {0.0}
    assert {p[0] + r[2] - r[0] for p, r in zip(align(rects, "right").values(), rects.values(), strict=True)} == {520.0}
    assert {y for _, y in align(rects, "top").values()} == {0.0}
    spread = distribute(rects, "x")
    edges = [(spread[i][0], spread[i][0] + rects[i][2] - rects[i][0]) for i in rects]
    gaps = {round(b[0] - a[1], 9) for a, b in pairwise(edges)}
    assert len(gaps) == 1
    assert edges[0][0] == 0.0
    assert edges[-1][1] == 520.0
    assert snap({"a": (13.0, 27.0)}, 20.0) == {"a": (20.0, 20.0)}
