"""The scene: what the mouse touches, what is made anew, large changes over several updates."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from munet import Edge, Frame, Graph, Node
from studio.curves import along, bezier
from studio.document import Document
from studio.hit import AT_ONCE, Scene
from tests.studio.helpers import Mouse, relus


def test_what_the_mouse_touches():
    graph = relus(2)
    scene = Scene()
    scene.update(graph, graph)
    view = scene.views["r0"]
    assert scene.hit((view.x + 80, view.y + 10)).node == "r0"
    hit = scene.hit(scene.socket_at("r0", "out", "y"))
    assert (hit.kind, hit.node, hit.side, hit.socket) == ("socket", "r0", "out", "y")
    middle = along(scene.wires[graph.edges[0]].control)[10]
    assert scene.hit(middle).edge == graph.edges[0]
    assert scene.hit((middle[0], middle[1] + 60)).kind == "nothing"
    assert scene.nodes_in((-10.0, -10.0, 50.0, 50.0)) == {"r0"}
    assert scene.wires_cut([(middle[0], middle[1] - 50), (middle[0], middle[1] + 50)]) == {graph.edges[0]}
    assert scene.wires_cut([(middle[0], middle[1] - 50), (middle[0] + 1, middle[1] - 40)]) == set()


def test_frames_are_touched_at_title_border_and_corner():
    graph = Graph(nodes={"a": Node("a", "relu", {}, (50.0, 80.0))}, frames=(Frame("f", (0.0, 0.0), (400.0, 300.0)),))
    scene = Scene()
    scene.update(graph, graph)
    assert scene.hit((200.0, 10.0)).kind == "frame"
    assert scene.hit((400.0, 300.0)).kind == "corner"
    assert scene.hit((350.0, 200.0)).kind == "nothing"
    assert scene.nodes_of_frame(0) == {"a"}
    assert scene.frames_in((-1.0, -1.0, 401.0, 301.0)) == {0}


def test_only_what_changed_is_made_anew():
    document = Document(relus(50))
    mouse = Mouse(document)
    views = dict(mouse.scene.views)
    mouse.drag(mouse.head("r7"), (2300.0, 400.0))
    assert mouse.scene.changed_nodes <= {"r7"}
    assert [id_ for id_, view in mouse.scene.views.items() if view is not views[id_]] == ["r7"]


def test_a_thousand_nodes_are_hit_and_moved_fast():
    nodes = {f"n{i}": Node(f"n{i}", "add", {}, (230.0 * (i % 40), 160.0 * (i // 40))) for i in range(1000)}
    edges = tuple(Edge(f"n{i}", "z", f"n{i + 1}", "x") for i in range(999))
    graph = Graph(nodes=nodes, edges=edges)
    document = Document(graph)
    mouse = Mouse(document)
    started = time.process_time()
    for i in range(500):
        mouse.scene.hit((17.0 * i, 11.0 * i % 4000), 0.5)
    assert (time.process_time() - started) / 500 < 0.005
    started = time.process_time()
    mouse.drag(mouse.head("n500"), (3000.0, 2000.0), steps=10)
    assert (time.process_time() - started) / 10 < 0.05


def test_wires_end_in_their_sockets():
    for a, b in (((0.0, 0.0), (300.0, 50.0)), ((300.0, 0.0), (0.0, 50.0)), ((0.0, 0.0), (0.0, 0.0))):
        points = along(bezier(a, b))
        assert points[0] == pytest.approx(a)
        assert points[-1] == pytest.approx(b)


def test_a_large_drawing_is_taken_in_over_several_updates():
    graph = relus(3 * AT_ONCE)
    scene, whole = Scene(), Scene()
    whole.update(graph, graph)
    rounds = 0
    while rounds == 0 or scene.pending:
        scene.update(graph, graph, limit_s=0.0)
        assert scene.views.items() <= whole.views.items()
        assert all(edge.source in scene.views and edge.target in scene.views for edge in scene.wires)
        rounds += 1
    assert rounds > 3
    assert scene.views == whole.views
    assert scene.wires == whole.wires
    assert scene.bounds == whole.bounds


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["move", "drop", "cut", "new"]), st.integers(0, 249)), min_size=1, max_size=12))
def test_edits_that_come_meanwhile_end_in_the_same_scene(edits: list[tuple[str, int]]):
    graph = relus(250)
    scene = Scene()
    for kind, number in edits:
        scene.update(graph, graph, limit_s=0.0)
        nodes, edges = dict(graph.nodes), graph.edges
        id_ = f"r{number}"
        if kind == "move":  # all of them, as a drag of everything does
            nodes = {key: replace(node, position=(node.position[0] + 9.0, 5.0)) for key, node in nodes.items()}
        elif kind == "new":
            nodes.setdefault(f"n{number}", Node(f"n{number}", "add", {}, (3.0 * number, 900.0)))
        elif kind == "drop":
            nodes.pop(id_, None)
        edges = tuple(e for e in edges if e.source in nodes and e.target in nodes and not (kind == "cut" and e.source == id_))
        graph = replace(graph, nodes=nodes, edges=edges)
    scene.update(graph, graph, limit_s=0.0)
    while scene.pending:
        scene.update(graph, graph, limit_s=0.0)
    whole = Scene()
    whole.update(graph, graph)
    assert (scene.pending, scene.views, scene.wires) == (0, whole.views, whole.wires)
    assert scene.bounds == whole.bounds
    everywhere = (-1e6, -1e6, 1e6, 1e6)
    assert scene.nodes_in(everywhere) == whole.nodes_in(everywhere)
    assert scene.wires_in(everywhere) == whole.wires_in(everywhere)
