"""Automatic layout: layers from left to right, few crossings, skip connections on lanes of their own.

Takes sizes by id and edges, gives positions. Cycles are opened by turning back edges round, so it ends on any drawing.
Longest-path layers (sources are then pulled towards their readers), barycentre sweeps after Sugiyama et al. 1981; an edge over
several layers runs through thin places of its own, so that nothing is drawn over it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import networkx as nx

Size = tuple[float, float]
Place = Any  # a node's id, or (source, target, layer) for the lane of a long edge

GAP_X, GAP_Y, LANE = 70.0, 34.0, 18.0
SWEEPS = 12
STRAIGHTENINGS = 12
MAX_LANES = 20_000  # of a drawing; beyond, long edges get none


def arrange(
    sizes: Mapping[str, Size], edges: Iterable[tuple[str, str]], origin: tuple[float, float] = (0.0, 0.0)
) -> dict[str, tuple[float, float]]:
    """Upper left corners of all nodes; the upper left of the whole is at `origin`."""
    if not sizes:
        return {}
    graph = _acyclic(sizes, edges)
    below, positions = origin[1], dict[str, tuple[float, float]]()
    order = {id_: place for place, id_ in enumerate(sizes)}
    parts = sorted(nx.weakly_connected_components(graph), key=lambda part: min(order[id_] for id_ in part))
    loose = [next(iter(part)) for part in parts if len(part) == 1]
    for part in parts:
        if len(part) > 1:
            placed = _arrange_part(graph.subgraph(part), sizes, order)
            positions |= {id_: (x + origin[0], y + below) for id_, (x, y) in placed.items()}
            below = max(positions[id_][1] + sizes[id_][1] for id_ in part) + 2 * GAP_Y
    positions |= _row(loose, sizes, origin[0], below)
    return positions


def _row(loose: Sequence[str], sizes: Mapping[str, Size], left: float, top: float) -> dict[str, tuple[float, float]]:
    """Nodes without wires in rows below the rest."""
    positions: dict[str, tuple[float, float]] = {}
    columns = max(4, round(len(loose) ** 0.5))
    x, height = left, 0.0
    for place, id_ in enumerate(loose):
        if place and place % columns == 0:
            x, top, height = left, top + height + GAP_Y, 0.0
        positions[id_] = (x, top)
        x += sizes[id_][0] + GAP_X / 2
        height = max(height, sizes[id_][1])
    return positions


def _acyclic(sizes: Mapping[str, Size], edges: Iterable[tuple[str, str]]) -> Any:
    """The drawing with each edge that leads back in a depth-first walk turned round."""
    after: dict[str, list[str]] = {id_: [] for id_ in sizes}
    for source, target in dict.fromkeys(edges):
        if source in after and target in after and source != target:
            after[source].append(target)
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(sizes)
    done: set[str] = set()
    for start in sizes:
        if start in done:
            continue
        path = {start: iter(after[start])}
        while path:
            current = next(reversed(path))
            target = next(path[current], None)
            if target is None:
                done.add(current)
                path.popitem()
            elif target in path:
                graph.add_edge(target, current)  # turned round
            else:
                graph.add_edge(current, target)
                if target not in done:
                    path[target] = iter(after[target])
    return graph


def _layers_of(graph: Any) -> dict[str, int]:
    """Longest path from the left; then every node that can is pulled right, next to its nearest reader, if it is a source."""
    layer: dict[str, int] = {}
    order = list(nx.topological_sort(graph))
    for id_ in order:
        layer[id_] = max((layer[before] + 1 for before in graph.predecessors(id_)), default=0)
    for id_ in reversed(order):
        if graph.in_degree(id_) == 0 and graph.out_degree(id_) > 0:
            layer[id_] = min(layer[after] for after in graph.successors(id_)) - 1
    return layer


def _arrange_part(graph: Any, sizes: Mapping[str, Size], order: Mapping[str, int]) -> dict[str, tuple[float, float]]:
    layer = _layers_of(graph)
    columns: list[list[Place]] = [[] for _ in range(max(layer.values()) + 1)]
    for id_ in sorted(graph, key=order.__getitem__):
        columns[layer[id_]].append(id_)
    before, after = _with_lanes(graph, layer, columns)
    _reduce_crossings(columns, before, after)
    heights: dict[Place, float] = {id_: sizes[id_][1] for id_ in graph}
    tops = _straightened(columns, before, after, heights)
    widths = [max((sizes[p][0] for p in column if p in heights), default=0.0) for column in columns]
    lefts = [sum(widths[:c]) + GAP_X * c for c in range(len(columns))]
    highest = min(tops[p] for column in columns for p in column if p in heights)
    return {id_: (lefts[layer[id_]], tops[id_] - highest) for id_ in graph}


Links = dict[Place, list[Place]]


def _with_lanes(graph: Any, layer: Mapping[str, int], columns: list[list[Place]]) -> tuple[Links, Links]:
    """Neighbours to the left and to the right of every place; places for long edges are added to the columns."""
    before: Links = {id_: [] for id_ in graph}
    after: Links = {id_: [] for id_ in graph}
    lanes = sum(max(0, layer[t] - layer[s] - 1) for s, t in graph.edges)
    for source, target in graph.edges:
        last: Place = source
        for column in range(layer[source] + 1, layer[target] if lanes <= MAX_LANES else 0):
            lane = (source, target, column)
            columns[column].append(lane)
            after.setdefault(last, []).append(lane)
            before[lane], after[lane] = [last], []
            last = lane
        after[last].append(target)
        before[target].append(last)
    return before, after


def _reduce_crossings(columns: list[list[Place]], before: Links, after: Links) -> None:
    """Barycentre sweeps to the right and back; the order with the fewest crossings is kept."""
    best, fewest = [list(column) for column in columns], _crossings(columns, after)
    for sweep in range(SWEEPS):
        if fewest == 0:
            break
        forward = sweep % 2 == 0
        places = range(1, len(columns)) if forward else range(len(columns) - 2, -1, -1)
        links = before if forward else after
        for c in places:
            beside = {place: row for row, place in enumerate(columns[c - 1 if forward else c + 1])}
            weight: dict[Place, float] = {}
            for row, place in enumerate(columns[c]):
                rows = [beside[other] for other in links[place] if other in beside]
                weight[place] = sum(rows) / len(rows) if rows else float(row)
            columns[c].sort(key=weight.__getitem__)
        found = _crossings(columns, after)
        if found < fewest:
            best, fewest = [list(column) for column in columns], found
    columns[:] = best


def _crossings(columns: Sequence[Sequence[Place]], after: Links) -> int:
    """Crossings between neighbouring columns: inversions, counted with a binary indexed tree."""
    total = 0
    for left, right in pairwise(columns):
        row = {place: index for index, place in enumerate(right)}
        tree = [0] * (len(right) + 1)
        seen = 0
        for place in left:
            ends = sorted(row[other] for other in after[place] if other in row)
            for end in ends:
                index, not_above = end + 1, 0
                while index:
                    not_above += tree[index]
                    index &= index - 1
                total += seen - not_above
            for end in ends:
                index = end + 1
                while index < len(tree):
                    tree[index] += 1
                    index += index & -index
                seen += 1
    return total


def _straightened(
    columns: Sequence[Sequence[Place]], before: Links, after: Links, heights: Mapping[Place, float]
) -> dict[Place, float]:
    """Tops of all places: each is drawn towards the middle of its neighbours as far as the order in its column allows."""
    tops: dict[Place, float] = {}
    for column in columns:
        y = 0.0
        for place in column:
            tops[place] = y
            y += heights.get(place, 0.0) + _gap(place, heights)
    for round_ in range(STRAIGHTENINGS):
        forward = round_ % 2 == 0
        for column in columns if forward else reversed(columns):
            wanted = [_wanted(place, tops, before if forward else after, heights) for place in column]
            _settle(column, wanted, tops, heights)
    return tops


def _wanted(place: Place, tops: Mapping[Place, float], links: Links, heights: Mapping[Place, float]) -> float:
    """The top at which the place is level with the middle of its neighbours; lanes weigh more, so that they stay straight."""
    near = links[place]
    if not near:
        return tops[place]
    weights = [1.0 if other in heights else 4.0 for other in near]
    middles = [tops[other] + heights.get(other, 0.0) / 2 for other in near]
    middle = sum(w * m for w, m in zip(weights, middles, strict=True)) / sum(weights)
    return middle - heights.get(place, 0.0) / 2


def _settle(column: Sequence[Place], wanted: Sequence[float], tops: dict[Place, float], heights: Mapping[Place, float]) -> None:
    """As near to the wanted tops as possible, in order and without overlap: blocks of places that touch move as one
    (pool adjacent violators, least squares)."""
    offsets: list[float] = []
    y = 0.0
    for place in column:
        offsets.append(y)
        y += heights.get(place, 0.0) + _gap(place, heights)
    blocks: list[tuple[float, int]] = []  # sum of wanted minus offset, count
    for want, offset in zip(wanted, offsets, strict=True):
        total, count = want - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] > total / count:
            last_total, last_count = blocks.pop()
            total, count = total + last_total, count + last_count
        blocks.append((total, count))
    index = 0
    for total, count in blocks:
        for _ in range(count):
            tops[column[index]] = total / count + offsets[index]
            index += 1


def _gap(place: Place, heights: Mapping[Place, float]) -> float:
    return GAP_Y if place in heights else LANE


# -- aligning --------------------------------------------------------------------------------------------------------------

Rects = Mapping[str, tuple[float, float, float, float]]


def align(rects: Rects, how: str) -> dict[str, tuple[float, float]]:
    """Corners of nodes brought to one line: "left", "right", "top", "bottom" or "center" (middles on a horizontal line)."""
    if len(rects) < 2:
        return {}
    left, top = min(r[0] for r in rects.values()), min(r[1] for r in rects.values())
    right, bottom = max(r[2] for r in rects.values()), max(r[3] for r in rects.values())
    moved = {
        "left": lambda r: (left, r[1]),
        "right": lambda r: (right - (r[2] - r[0]), r[1]),
        "top": lambda r: (r[0], top),
        "bottom": lambda r: (r[0], bottom - (r[3] - r[1])),
        "center": lambda r: (r[0], (top + bottom) / 2 - (r[3] - r[1]) / 2),
    }[how]
    return {id_: moved(rect) for id_, rect in rects.items()}


def distribute(rects: Rects, axis: str) -> dict[str, tuple[float, float]]:
    """Equal gaps between nodes along "x" or "y"; the outermost stay."""
    near, far = (0, 2) if axis == "x" else (1, 3)
    ids = sorted(rects, key=lambda id_: rects[id_][near])
    if len(ids) < 3:
        return {}
    extent = sum(rects[id_][far] - rects[id_][near] for id_ in ids)
    gap = (rects[ids[-1]][far] - rects[ids[0]][near] - extent) / (len(ids) - 1)
    at = rects[ids[0]][near]
    positions: dict[str, tuple[float, float]] = {}
    for id_ in ids:
        rect = rects[id_]
        positions[id_] = (at, rect[1]) if axis == "x" else (rect[0], at)
        at += rect[far] - rect[near] + gap
    return positions


def snap(
    positions: Mapping[str, tuple[float, float]], grid: float, only: Collection[str] | None = None
) -> dict[str, tuple[float, float]]:
    """Corners on a grid."""
    chosen = {id_: at for id_, at in positions.items() if only is None or id_ in only}
    return {id_: (round(x / grid) * grid, round(y / grid) * grid) for id_, (x, y) in chosen.items()}
