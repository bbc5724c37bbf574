"""Automatic layout, aligning, distributing, snapping."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from munet import Edge, Frame, Graph, Node
from studio.aligning import align, distribute, snap
from studio.autolayout import Rearrange, arranged
from studio.bends import route
from studio.curves import meet
from studio.document import Document
from studio.edits import REROUTE, EditRefused
from studio.hit import Scene, frame_rect
from studio.layout import Lane, Link, arrange
from tests.studio.helpers import PROJECTS, project

Sizes = dict[str, tuple[float, float]]


def overlaps(positions: Sizes, sizes: Sizes) -> list[tuple[str, str]]:
    rects = sorted((x, y, x + sizes[i][0], y + sizes[i][1], i) for i, (x, y) in positions.items())
    found = []
    for place, a in enumerate(rects):
        for b in rects[place + 1 :]:
            if b[0] >= a[2]:
                break
            if a[1] < b[3] and b[1] < a[3]:
                found.append((a[4], b[4]))
    return found


def links(pairs: list[tuple[str, str]]) -> list[Link]:
    return [Link(a, b, 40.0, 40.0, "y") for a, b in pairs]


def scene_of(graph: Graph) -> Scene:
    scene = Scene()
    scene.update(graph, graph)
    return scene


def tidy(graph: Graph) -> Graph:
    return arranged(graph, scene_of(graph).views)


def wired(graph: Graph) -> list[Edge]:
    """The wires as they were without bends, those of each input in their order."""
    into = {edge.target: edge for edge in graph.edges if graph.nodes[edge.target].operator == REROUTE}
    found = []
    for edge in graph.edges:
        while edge.source in into:
            edge = replace(edge, source=into[edge.source].source, source_socket=into[edge.source].source_socket)
        if graph.nodes[edge.target].operator != REROUTE:
            found.append(edge)
    return found


def run_over(graph: Graph) -> list[tuple[Edge, str]]:
    """Wires that are drawn over nodes."""
    scene = scene_of(graph)
    return [
        (edge, id_)
        for edge, wire in scene.wires.items()
        for id_, view in scene.views.items()
        if id_ not in (edge.source, edge.target) and any(view.rect[0] < x < view.rect[2] and view.rect[1] < y < view.rect[3]
                                                         for x, y in wire.points)
    ]  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 25), st.lists(st.tuples(st.integers(0, 24), st.integers(0, 24)), max_size=50))
def test_nothing_overlaps_whatever_is_drawn(count: int, pairs: list[tuple[int, int]]):
    sizes = {f"n{i}": (150.0 + 7 * (i % 5), 60.0 + 13 * (i % 7)) for i in range(count)}
    edges = [(f"n{a}", f"n{b}") for a, b in pairs if a < count and b < count]
    found = arrange(sizes, links(edges), (100.0, 50.0))
    assert found.positions.keys() == sizes.keys()
    assert overlaps(found.positions, sizes) == []
    assert all(math.isfinite(x) and math.isfinite(y) for x, y in found.positions.values())
    for id_, (x, y) in found.positions.items():
        rect = (x, y, x + sizes[id_][0], y + sizes[id_][1])
        for lane in (lane for lanes in found.lanes.values() for lane in lanes):
            assert not meet(rect, (lane.left, lane.y, lane.right, lane.y)), (id_, lane)


def test_layout_ends_on_cycles():  # CASES 51
    sizes = dict.fromkeys("abc", (160.0, 80.0))
    positions = arrange(sizes, links([("a", "b"), ("b", "c"), ("c", "a"), ("a", "a")])).positions
    assert len({x for x, _ in positions.values()}) == 3


def test_the_longest_way_is_straight_from_socket_to_socket():
    sizes = {f"n{i}": (160.0, 80.0 + 17 * (i % 3)) for i in range(6)}
    chain = [Link(f"n{i}", f"n{i + 1}", 40.0 + 20 * (i % 2), 52.0) for i in range(5)]
    found = arrange({**sizes, "label": (160.0, 60.0)}, [*chain, Link("label", "n5", 30.0, 72.0)])
    heights = [found.positions[a.source][1] + a.leaves - found.positions[a.target][1] - a.enters for a in chain]
    assert heights == [0.0] * 5
    assert all(found.positions[a.source][0] + 160 < found.positions[a.target][0] for a in chain)


def test_skip_connections_run_beside_nodes_on_a_straight_lane():
    sizes = {f"n{i}": (160.0, 80.0 + 30 * (i % 2)) for i in range(7)}
    edges = links([(f"n{i}", f"n{i + 1}") for i in range(6)])
    found = arrange(sizes, [*edges, Link("n0", "n6", 60.0, 60.0, "skip"), Link("n1", "n5", 60.0, 60.0, "inner")])
    for name in (("n0", "skip"), ("n1", "inner")):
        assert len({lane.y for lane in found.lanes[name]}) == 1
    assert found.lanes["n0", "skip"][0].y != found.lanes["n1", "inner"][0].y
    assert [lane.column for lane in found.lanes["n0", "skip"]] == [1, 2, 3, 4, 5]


def test_wires_of_one_socket_share_their_bends():
    lanes = [Lane(200.0 * c, 200.0 * c + 160.0, 300.0, c) for c in range(1, 5)]
    ends = [(3, (600.0, 80.0)), (5, (1000.0, 80.0)), (5, (1000.0, 180.0)), (1, (200.0, 90.0))]
    found = route((160.0, 60.0), lanes, ends, lambda start, end: abs(start[1] - end[1]) < 5 or abs(end[0] - start[0]) < 60)
    assert found.bends == ((192.0, 300.0), (568.0, 300.0), (968.0, 300.0))
    assert found.starts == (1, 2, 2, -1)
    assert route((160.0, 60.0), lanes, ends, lambda start, end: True).bends == ()


@pytest.mark.parametrize("name", sorted(path.stem for path in PROJECTS.glob("*.json")))
def test_shipped_projects_are_arranged_without_a_wire_over_a_node(name: str):
    graph = project(name)
    tidied = tidy(graph)
    assert wired(tidied) == list(graph.edges)
    assert {i: replace(n, position=(0.0, 0.0)) for i, n in tidied.nodes.items() if n.operator != REROUTE} == {
        i: replace(n, position=(0.0, 0.0)) for i, n in graph.nodes.items()
    }
    assert run_over(tidied) == []
    assert sum(node.operator == REROUTE for node in tidied.nodes.values()) <= 4
    again = tidy(tidied)  # nothing piles up, nothing wanders
    assert {i: n.position for i, n in again.nodes.items()} == {i: n.position for i, n in tidied.nodes.items()}
    assert wired(again) == list(graph.edges)


def residual(blocks: int = 3) -> Graph:
    """Blocks of norm, Linear, gelu, Linear with a way round each."""
    nodes, edges = {"x": Node("x", "digits"), "in": Node("in", "Linear")}, [Edge("x", "image", "in", "x")]
    last = ("in", "y")
    for block in range(blocks):
        names = [f"{kind} {block}" for kind in ("norm", "fc", "act", "out", "add")]
        kinds = ("LayerNorm", "Linear", "gelu", "Linear", "add")
        nodes |= {id_: Node(id_, kind, {}, (31.0 * block, 47.0)) for id_, kind in zip(names, kinds, strict=True)}
        edges += [Edge(*last, names[0], "x"), *(Edge(a, "y", b, "x") for a, b in pairwise(names[:4]))]
        edges += [Edge(names[3], "y", names[4], "y"), Edge(*last, names[4], "x")]
        last = (names[4], "z")
    return Graph(nodes=nodes, edges=tuple(edges))


def test_ways_round_blocks_stay_readable_and_all_of_it_is_one_step_back():
    document = Document(residual())
    scene = scene_of(document.graph)
    document.do(Rearrange(document.part, arranged(document.part, scene.views)))
    tidied = document.graph
    assert run_over(tidied) == []
    bends = {id_: node for id_, node in tidied.nodes.items() if node.operator == REROUTE}
    assert len(bends) == 6  # two a block
    assert len(document.undo_labels) == 1
    document.undo()
    assert document.graph == residual()
    with pytest.raises(EditRefused, match="has changed while"):
        document.do(Rearrange(tidied, tidied))


def test_frames_keep_what_they_held():
    graph = residual()
    inside = {f"{kind} 1" for kind in ("norm", "fc", "act")}
    nodes = {id_: replace(n, position=(2000.0, 900.0)) if id_ in inside else n for id_, n in graph.nodes.items()}
    nodes["act 1"] = replace(nodes["act 1"], position=(2010.0, 1100.0))
    frames = (
        Frame("outer", (1900.0, 800.0), (600.0, 500.0)), Frame("inner", (1990.0, 1060.0), (300.0, 200.0), note="a word"),
        Frame("empty", (-900.0, 0.0), (200.0, 100.0)),
    )  # fmt: skip
    graph = replace(graph, nodes={**nodes, "loose": Node("loose", "relu", {}, (-500.0, -500.0))}, frames=frames)
    before, after = scene_of(graph), scene_of(tidy(graph))
    assert [before.nodes_of_frame(i) - {REROUTE} for i in range(3)] == [inside, {"act 1"}, set()]
    own = [{id_ for id_ in after.nodes_of_frame(i) if not after.views[id_].is_reroute} for i in range(3)]
    assert own == [inside, {"act 1"}, set()]
    assert after.frames_in(frame_rect(after.frames[0])) == {0, 1}
    assert after.frames[2].size == (200.0, 100.0)
    for i, frame in enumerate(after.frames):
        left, top, right, bottom = frame_rect(frame)
        for id_ in own[i]:
            x0, y0, x1, y1 = after.views[id_].rect
            assert left < x0 and top + 26 < y0 and x1 < right and y1 < bottom
        others = [v for id_, v in after.views.items() if id_ not in own[0] and not v.is_reroute]
        assert not any(meet(v.rect, (left, top, right, bottom)) for v in others)


def test_wires_over_the_border_of_a_frame_run_over_no_node():
    """Into a frame, to its far end; out of one, from its beginning; from frame to frame; and frames in frames."""
    graph = residual(4)
    nodes, frames = dict(graph.nodes), list[Frame]()
    for block in (1, 2):
        for kind in ("norm", "fc", "act", "out", "add"):
            id_ = f"{kind} {block}"
            nodes[id_] = replace(nodes[id_], position=(3000.0 * block, 50.0))
        frames.append(Frame(f"block {block}", (3000.0 * block - 50.0, 0.0), (500.0, 300.0)))
    nodes["act 1"] = replace(nodes["act 1"], position=(3200.0, 150.0))
    frames.append(Frame("deep", (3190.0, 100.0), (250.0, 190.0)))
    extra = Edge("norm 1", "y", "late", "x"), Edge("add 3", "z", "late", "y"), Edge("in", "y", "add 2", "x")
    edges = (*(e for e in graph.edges if e != Edge("add 1", "z", "add 2", "x")), *extra)
    graph = replace(graph, nodes={**nodes, "late": Node("late", "add")}, edges=edges, frames=tuple(frames))
    tidied = tidy(graph)
    assert run_over(tidied) == []
    assert wired(tidied) == list(edges)
    after = scene_of(tidied)
    assert after.frames_in(frame_rect(tidied.frames[0])) == {0, 2}
    again = tidy(tidied)
    assert {i: n.position for i, n in again.nodes.items()} == {i: n.position for i, n in tidied.nodes.items()}
    assert again.frames == tidied.frames


def test_only_some_nodes_are_arranged_where_they_are():
    graph = residual()
    chosen = frozenset({"norm 1", "fc 1", "act 1"})
    tidied = arranged(graph, scene_of(graph).views, chosen)
    moved = {id_ for id_ in graph.nodes if tidied.nodes[id_].position != graph.nodes[id_].position}
    assert moved <= chosen
    assert len({tidied.nodes[id_].position[0] for id_ in chosen}) == 3
    assert min(tidied.nodes[id_].position[0] for id_ in chosen) == 31.0


def test_bends_that_somebody_needs_stay():
    graph = residual(1)
    bends = {
        "r": Node("r", REROUTE), "noted": Node("noted", REROUTE, {}, (0.0, 0.0), note="why"), "loose": Node("loose", REROUTE),
    }  # fmt: skip
    edges = tuple(edge for edge in graph.edges if edge != Edge("in", "y", "norm 0", "x"))
    edges += (
        Edge("in", "y", "r", "x"),
        Edge("r", "y", "noted", "x"),
        Edge("noted", "y", "norm 0", "x"),
        Edge("in", "y", "loose", "x"),
    )
    tidied = tidy(replace(graph, nodes={**graph.nodes, **bends}, edges=edges))
    assert "r" not in tidied.nodes and tidied.nodes["noted"].note == "why" and "loose" in tidied.nodes
    assert Edge("noted", "y", "norm 0", "x") in tidied.edges


def test_the_order_at_an_input_for_several_wires_stays():
    nodes = {f"s{i}": Node(f"s{i}", "relu", {}, (0.0, 90.0 * i)) for i in range(4)} | {"c": Node("c", "concat")}
    nodes |= {f"t{i}": Node(f"t{i}", "tanh") for i in range(3)}
    edges = [Edge("s3", "y", "c", "x"), Edge("s0", "y", "c", "x"), Edge("t2", "y", "c", "x"), Edge("s1", "y", "c", "x")]
    edges += [Edge("s0", "y", "t0", "x"), Edge("t0", "y", "t1", "x"), Edge("t1", "y", "t2", "x")]
    graph = Graph(nodes=nodes, edges=tuple(edges))
    tidied = tidy(graph)
    assert any(node.operator == REROUTE for node in tidied.nodes.values())
    assert [e for e in wired(tidied) if e.target == "c"] == edges[:4]


def test_a_thousand_nodes_in_two_seconds():
    sizes = {f"n{i}": (170.0, 90.0) for i in range(1000)}
    edges = [(f"n{i}", f"n{i + step}") for i in range(1000) for step in (1, 7, 31) if i + step < 1000 and (i % step == 0)]
    started = time.process_time()
    found = arrange(sizes, links(edges))
    assert time.process_time() - started < 2
    assert len(found.positions) == 1000


def test_a_thousand_nodes_in_a_hundred_layers():
    sizes = {f"n{i}": (170.0, 90.0) for i in range(1000)}
    edges = [(f"n{i}", f"n{i + 10 + step}") for i in range(1000) for step in (0, 1, 23) if i + 10 + step < 1000]
    started = time.process_time()
    found = arrange(sizes, links(edges))
    assert time.process_time() - started < 2
    assert overlaps(found.positions, sizes) == []


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
