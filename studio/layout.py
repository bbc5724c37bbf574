"""Automatic layout: layers from left to right, few crossings, skip connections on lanes of their own.

Takes sizes by id and links between sockets, gives positions, and the lanes that long links run on. Cycles are opened by turning
back links round, so it ends on any drawing. Longest-path layers (sources are then pulled towards their readers), barycentre
sweeps after Sugiyama et al. 1981. The longest way through the drawing is its spine: it is kept straight, socket to socket, before
all else. A link over several layers has a thin place in each of them, so that nothing is drawn over it; links that start at one
socket share theirs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import networkx as nx

from studio.settling import Touch, level, settle, wanted

Size = tuple[float, float]
Point = tuple[float, float]
Place = Any  # a node's id, or (source, trunk, column): a lane's place in a column

GAP_X, GAP_Y, LANE = 80.0, 36.0, 26.0
SWEEPS, STRAIGHTENINGS = 12, 12
MAX_LANES = 20_000  # of a drawing; beyond, long links get none
SPINE = 1e5  # how much more than others it is kept straight


@dataclass(frozen=True)
class Link:
    """A wire; `leaves` and `enters` say how far below the tops of its nodes. Those of one `trunk` start at one socket."""

    source: str
    target: str
    leaves: float = 0.0
    enters: float = 0.0
    trunk: str = ""


@dataclass(frozen=True)
class Lane:
    """Where a trunk passes a column."""

    left: float
    right: float
    y: float
    column: int


@dataclass
class Arranged:
    """Upper left corners of all nodes, their columns, and the lanes of trunks by source and name, from left to right."""

    positions: dict[str, Point] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)
    lanes: dict[tuple[str, str], tuple[Lane, ...]] = field(default_factory=dict)


def arrange(
    sizes: Mapping[str, Size], links: Iterable[Link], origin: Point = (0.0, 0.0), gates: Collection[str] = ()
) -> Arranged:  # fmt: skip
    """The upper left of the whole is at `origin`; what is not connected lies below each other. `gates` without wires to them come
    first of all columns, those without wires from them last."""
    links = [link for link in links if link.source in sizes and link.target in sizes and link.source != link.target]
    graph, forward = _acyclic(sizes, links)
    found, below = Arranged(), origin[1]
    order = {id_: place for place, id_ in enumerate(sizes)}
    parts = sorted(nx.weakly_connected_components(graph), key=lambda part: min(order[id_] for id_ in part))
    loose = [next(iter(part)) for part in parts if len(part) == 1]
    for part in parts:
        if len(part) > 1:
            own = [link for link in forward if link.source in part]
            placed = _Part(graph.subgraph(part), own, sizes, order, gates)
            below = placed.put_into(found, (origin[0], below)) + 2 * GAP_Y
    found.positions |= _rows(loose, sizes, origin[0], below)
    return found


def _rows(loose: Sequence[str], sizes: Mapping[str, Size], left: float, top: float) -> dict[str, Point]:
    """Nodes without wires in rows below the rest."""
    positions: dict[str, Point] = {}
    columns = max(4, round(len(loose) ** 0.5))
    x, height = left, 0.0
    for place, id_ in enumerate(loose):
        if place and place % columns == 0:
            x, top, height = left, top + height + GAP_Y, 0.0
        positions[id_] = (x, top)
        x += sizes[id_][0] + GAP_X / 2
        height = max(height, sizes[id_][1])
    return positions


def _acyclic(sizes: Mapping[str, Size], links: Sequence[Link]) -> tuple[Any, list[Link]]:
    """The drawing with each link that leads back in a depth-first walk turned round."""
    after: dict[str, dict[str, None]] = {id_: {} for id_ in sizes}
    for link in links:
        after[link.source][link.target] = None
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(sizes)
    turned: set[tuple[str, str]] = set()
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
                graph.add_edge(target, current)
                turned.add((current, target))
            else:
                graph.add_edge(current, target)
                if target not in done:
                    path[target] = iter(after[target])
    back = {
        link: Link(link.target, link.source, link.enters, link.leaves, f"back to {link.source}.{link.trunk}")
        for link in links
        if (link.source, link.target) in turned
    }
    return graph, [back.get(link, link) for link in links]


def _layers_of(graph: Any, gates: Collection[str]) -> dict[str, int]:
    """Longest path from the left; then every source but for gates is pulled right, next to its nearest reader."""
    layer: dict[str, int] = {}
    order = list(nx.topological_sort(graph))
    for id_ in order:
        layer[id_] = max((layer[before] + 1 for before in graph.predecessors(id_)), default=0)
    for id_ in reversed(order):
        if graph.in_degree(id_) == 0 and graph.out_degree(id_) > 0 and id_ not in gates:
            layer[id_] = min(layer[after] for after in graph.successors(id_)) - 1
    first = [id_ for id_ in layer if id_ in gates and graph.in_degree(id_) == 0]
    if any(layer[id_] == 0 for id_ in layer if id_ not in first) and first:
        layer = {id_: at if id_ in first else at + 1 for id_, at in layer.items()}
    end = max(at + (id_ not in gates) for id_, at in layer.items())
    return {id_: end if id_ in gates and id_ not in first else at for id_, at in layer.items()}


class _Part:
    """What is connected with each other. `before` and `after` hold what each place touches to the left and to the right."""

    def __init__(
        self, graph: Any, links: Sequence[Link], sizes: Mapping[str, Size], order: Mapping[str, int], gates: Collection[str]
    ):  # fmt: skip
        self.sizes = {id_: sizes[id_] for id_ in graph}
        self.heights: dict[Place, float] = {id_: size[1] for id_, size in self.sizes.items()}
        self.layer = _layers_of(graph, gates)
        self.columns: list[list[Place]] = [[] for _ in range(max(self.layer.values()) + 1)]
        for id_ in sorted(graph, key=order.__getitem__):
            self.columns[self.layer[id_]].append(id_)
        self.before: dict[Place, list[Touch]] = {id_: [] for id_ in graph}
        self.after: dict[Place, list[Touch]] = {id_: [] for id_ in graph}
        self.spine = self._spine(links)
        self.trunks: dict[tuple[str, str], list[Place]] = {}
        self._join(links)
        self._reduce_crossings()
        self.tops = self._straightened()

    def _spine(self, links: Sequence[Link]) -> dict[str, str]:
        """The longest way through the drawing, as each node's next one."""
        into: dict[str, Link] = {}
        for link in sorted(links, key=lambda link: (-self.layer[link.source], link.enters)):
            if self.layer[link.source] == self.layer[link.target] - 1:
                into.setdefault(link.target, link)
        last = max(self.layer, key=lambda id_: self.layer[id_])
        spine: dict[str, str] = {}
        while last in into:
            spine[into[last].source] = last
            last = into[last].source
        return spine

    def _join(self, links: Sequence[Link]) -> None:
        """Lanes for long links; what touches what."""
        layer = self.layer
        lanes = sum(max(0, layer[link.target] - layer[link.source] - 1) for link in links)
        for link in links:
            place: Place = link.source
            leaves = link.leaves
            weight = SPINE if self.spine.get(link.source) == link.target else 1.0
            trunk = self.trunks.setdefault((link.source, link.trunk), [])
            for column in range(layer[link.source] + 1, layer[link.target] if lanes <= MAX_LANES else 0):
                lane = (link.source, link.trunk, column)
                if lane not in self.before:
                    self.columns[column].append(lane)
                    self.heights[lane] = 0.0
                    self.before[lane], self.after[lane] = [], []
                    self._touch(place, lane, leaves, 0.0, 4.0 if trunk else 1.0)
                    trunk.append(lane)
                place, leaves = lane, 0.0
            self._touch(place, link.target, leaves, link.enters, weight)

    def _touch(self, left: Place, right: Place, leaves: float, enters: float, weight: float) -> None:
        self.after[left].append(Touch(right, leaves, enters, weight))
        self.before[right].append(Touch(left, enters, leaves, weight))

    # -- order within the columns --------------------------------------------------------------------------------------

    def _reduce_crossings(self) -> None:
        """Barycentre sweeps to the right and back; the order with the fewest crossings is kept."""
        columns = self.columns
        best, fewest = [list(column) for column in columns], self._crossings()
        for sweep in range(SWEEPS):
            if fewest == 0:
                break
            forward = sweep % 2 == 0
            places = range(1, len(columns)) if forward else range(len(columns) - 2, -1, -1)
            for c in places:
                self._sort(columns[c], columns[c - 1 if forward else c + 1], self.before if forward else self.after)
            found = self._crossings()
            if found < fewest:
                best, fewest = [list(column) for column in columns], found
        columns[:] = best

    def _sort(self, column: list[Place], beside: Sequence[Place], links: Mapping[Place, Sequence[Touch]]) -> None:
        rows = {place: row for row, place in enumerate(beside)}
        weight: dict[Place, float] = {}
        for row, place in enumerate(column):
            near = [self._row(rows, touch.other, touch.others) for touch in links[place] if touch.other in rows]
            weight[place] = sum(near) / len(near) if near else float(row)
        column.sort(key=weight.__getitem__)

    def _row(self, rows: Mapping[Place, int], place: Place, offset: float) -> float:
        """Which row a socket is in, and how far down in it."""
        return rows[place] + 0.9 * min(1.0, max(0.0, offset / (self.heights[place] + 1.0)))

    def _crossings(self) -> int:
        """Crossings between neighbouring columns: inversions, counted with a binary indexed tree."""
        total = 0
        for left, right in pairwise(self.columns):
            rows = {place: index for index, place in enumerate(right)}
            ends: list[list[float]] = []  # of each socket on the left, from above
            for place in left:
                leaving: dict[float, list[float]] = {}
                for touch in self.after[place]:
                    if touch.other in rows:
                        leaving.setdefault(touch.own, []).append(self._row(rows, touch.other, touch.others))
                ends += [leaving[offset] for offset in sorted(leaving)]
            total += _inversions(ends)
        return total

    # -- heights -------------------------------------------------------------------------------------------------------

    def _straightened(self) -> dict[Place, float]:
        """Tops of all places: each is drawn towards what it touches as far as the order in its column allows."""
        tops: dict[Place, float] = {}
        for column in self.columns:
            y = 0.0
            for place in column:
                tops[place] = y
                y += self.heights[place] + self._gap(place)
        weights = dict.fromkeys((*self.spine, *self.spine.values()), SPINE)
        for round_ in range(STRAIGHTENINGS):
            forward = round_ % 2 == 0
            links = self.before if forward else self.after
            for column in self.columns if forward else reversed(self.columns):
                goals = [wanted(place, tops, links[place]) for place in column]
                settle(column, goals, tops, [self.heights[p] + self._gap(p) for p in column], weights)
        rows = {place: (column, row) for column in self.columns for row, place in enumerate(column)}
        level(list(self.trunks.values()), rows, tops, lambda place: self.heights[place] + self._gap(place))
        return tops

    def _gap(self, place: Place) -> float:
        """Below a place."""
        return GAP_Y if place in self.sizes else LANE

    # -- the result ----------------------------------------------------------------------------------------------------

    def put_into(self, found: Arranged, origin: Point) -> float:
        """Add positions and lanes, the uppermost at the origin; gives where it ends."""
        widths = [max((self.sizes[p][0] for p in column if p in self.sizes), default=0.0) for column in self.columns]
        lefts = [origin[0] + sum(widths[:c]) + GAP_X * c for c in range(len(widths))]
        down = origin[1] - min(self.tops.values())
        for id_ in self.sizes:
            found.positions[id_] = (lefts[self.layer[id_]], float(round(self.tops[id_] + down)))
            found.columns[id_] = self.layer[id_]
        for key, places in self.trunks.items():
            found.lanes[key] = tuple(
                Lane(lefts[column], lefts[column] + widths[column], float(round(self.tops[place] + down)), column)
                for place in places
                for column in (place[2],)
            )
        return max(top + self.heights[place] for place, top in self.tops.items()) + down


def _inversions(ends: Sequence[Sequence[float]]) -> int:
    """How many pairs of ends of different groups stand the wrong way round."""
    ranks = {end: rank for rank, end in enumerate(sorted({end for group in ends for end in group}))}
    tree = [0] * (len(ranks) + 1)
    seen = total = 0
    for group in ends:
        for end in group:
            index, not_below = ranks[end] + 1, 0
            while index:
                not_below += tree[index]
                index &= index - 1
            total += seen - not_below
        for end in group:
            index = ranks[end] + 1
            while index < len(tree):
                tree[index] += 1
                index += index & -index
        seen += len(group)
    return total
