"""Camera, node views and tools: the canvas without a display (CASES 51)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from munet import Edge, Frame, Graph, Node
from munet.inspect import wire_shapes
from studio.camera import Camera, bounds
from studio.curves import along
from studio.document import Document, selected
from studio.hit import Scene
from studio.nodeviews import DTYPE_COLORS, DTYPE_SHAPES, declaration_of, kind_of, node_view
from studio.requests import MIDDLE, RIGHT, Edit, Enter, OpenMenu, OpenSearch, Pan, Refused
from studio.subgraph_commands import Collapse
from tests.studio.helpers import PROJECTS, Mouse, project, relus

NAMES = sorted(path.stem for path in PROJECTS.glob("*.json"))


# -- camera ----------------------------------------------------------------------------------------------------------------


@given(st.floats(-900, 900), st.floats(-900, 900), st.floats(0, 1200), st.floats(0, 800), st.floats(-30, 30))
def test_zooming_keeps_what_is_under_the_mouse(x: float, y: float, sx: float, sy: float, notches: float):
    camera = Camera(x, y, 1.0, 1200, 800)
    before = camera.to_canvas((sx, sy))
    camera.zoom_at((sx, sy), notches)
    assert camera.to_screen(before) == pytest.approx((sx, sy), abs=1e-6)
    assert 0.05 <= camera.zoom <= 3.0


def test_fitting_panning_and_showing():
    camera = Camera(width=1000, height=600)
    camera.fit((100.0, 100.0, 2100.0, 700.0))
    left, top, right, bottom = camera.seen
    assert left < 100
    assert right > 2100
    assert top < 100
    assert bottom > 700
    camera.fit(None)
    assert camera.zoom == 1.0
    camera.pan(30, -10)
    version = camera.version
    camera.show((camera.x + 100, camera.y + 100, camera.x + 200, camera.y + 200))
    assert camera.version == version
    camera.show((5000.0, 0.0, 5100.0, 50.0))
    assert camera.seen[2] > 5100
    assert bounds([]) is None


# -- node views ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_project_has_views_whose_sockets_lie_on_their_nodes(name: str):
    graph = project(name)
    scene = Scene()
    scene.update(graph, graph, wire_shapes(graph))
    for view in scene.views.values():
        assert view.known
        assert view.height >= 26
        for spot in (*view.inputs, *view.outputs):
            assert 0 <= spot.y <= view.height
            assert spot.x in (0.0, view.width)
            assert spot.dtype in DTYPE_COLORS
            assert spot.kind in DTYPE_SHAPES
        for row in view.params:
            assert row.y + 20 <= view.height
    for edge in graph.edges:
        assert scene.views[edge.source].socket("out", edge.source_socket) is not None
        assert scene.views[edge.target].socket("in", edge.target_socket) is not None


def test_kinds_of_dtypes():
    kinds = {name: kind_of(name) for name in ("f32", "bf16", "i32", "u8", "bool", "T:float", "T:integer", "T:any", "", "T")}
    assert kinds == {
        "f32": "float", "bf16": "float", "i32": "integer", "u8": "integer", "bool": "bool", "T:float": "float",
        "T:integer": "integer", "T:any": "any", "": "any", "T": "any",
    }  # fmt: skip


def test_unknown_operators_and_wide_letters_are_drawn():
    wide = "卷积层的节点名字很长"
    graph = Graph(nodes={wide: Node(wide, "relu"), "q": Node("q", "nonsense")}, edges=(Edge("q", "o", "q", "i"),))
    views = {id_: node_view(graph, node) for id_, node in graph.nodes.items()}
    assert views[wide].width > 168
    assert not views["q"].known
    assert [s.name for s in (*views["q"].inputs, *views["q"].outputs)] == ["i", "o"]


def test_instances_look_like_what_they_hold():
    document = Document(project("spiral_mlp"))
    inner = frozenset(i for i, n in document.graph.nodes.items() if n.operator == "Linear")
    inner |= frozenset(i for i, n in document.graph.nodes.items() if n.operator in ("relu", "tanh"))
    document.do(Collapse(inner, "Net"))
    declared = declaration_of(document.graph, document.graph.nodes["Net"])
    assert declared is not None
    assert [s.name for s in declared.inputs] == ["x"]
    assert declared.inputs[0].dtype == "T:float"
    assert [s.name for s in declared.outputs] == ["y"]


# -- tools -----------------------------------------------------------------------------------------------------------------


def test_clicking_and_boxes_select():
    mouse = Mouse(Document(relus(4)))
    mouse.click(mouse.head("r1"))
    assert mouse.document.selection == selected(["r1"])
    mouse.click(mouse.head("r2"), held="Shift")
    assert mouse.document.selection.nodes == {"r1", "r2"}
    mouse.click(mouse.head("r1"), held="Ctrl")
    assert mouse.document.selection.nodes == {"r2"}
    mouse.drag((-50.0, -80.0), (500.0, 200.0))
    assert mouse.document.selection.nodes == {"r0", "r1"}
    mouse.drag((600.0, -80.0), (2000.0, 200.0), held="Shift")
    assert mouse.document.selection.nodes == {"r0", "r1", "r2", "r3"}
    mouse.click((0.0, 500.0))
    assert not mouse.document.selection
    assert mouse.document.undo_labels == ()


def test_dragging_moves_the_selection_as_one_step():
    mouse = Mouse(Document(relus(3)))
    mouse.drag((-50.0, -80.0), (500.0, 200.0))
    mouse.drag(mouse.head("r0"), (mouse.head("r0")[0] + 30, mouse.head("r0")[1] + 60), steps=7)
    positions = [node.position for node in mouse.document.graph.nodes.values()]
    assert [round(value, 6) for position in positions for value in position] == [30.0, 60.0, 350.0, 60.0, 640.0, 0.0]
    assert len(mouse.document.undo_labels) == 1
    mouse.tool.snap = 20.0
    mouse.click((0.0, 700.0))
    mouse.drag(mouse.head("r2"), (mouse.head("r2")[0] + 27, mouse.head("r2")[1] + 33))
    assert mouse.document.graph.nodes["r2"].position == (660.0, 40.0)
    assert len(mouse.document.undo_labels) == 2


def test_escape_takes_a_drag_back():
    mouse = Mouse(Document(relus(2)))
    mouse.press(mouse.head("r0"))
    mouse.move((300.0, 300.0))
    mouse.do(mouse.tool.cancel())
    assert mouse.document.graph.nodes["r0"].position == (0.0, 0.0)


@pytest.mark.parametrize("backwards", [False, True])
def test_wires_are_drawn_from_either_end(backwards: bool):
    graph = Graph(nodes={"a": Node("a", "relu"), "b": Node("b", "relu", {}, (400.0, 0.0))})
    mouse = Mouse(Document(graph))
    a, b = mouse.socket("a", "out", "y"), mouse.socket("b", "in", "x")
    mouse.drag(b if backwards else a, a if backwards else b)
    assert mouse.document.graph.edges == (Edge("a", "y", "b", "x"),)


def test_wires_are_taken_off_and_put_elsewhere_and_undone():  # CASES 48
    graph = relus(3)
    mouse = Mouse(Document(graph))
    mouse.drag(mouse.socket("r2", "in", "x"), (900.0, 600.0))  # pulled off
    assert mouse.document.graph.edges == graph.edges[:1]
    mouse.document.undo()
    mouse.sync()
    assert mouse.document.graph.edges == graph.edges
    mouse.drag(mouse.socket("r1", "in", "x"), mouse.socket("r2", "in", "x"))
    assert mouse.document.graph.edges == (Edge("r0", "y", "r2", "x"),)
    assert len(mouse.document.undo_labels) == 1
    mouse.document.undo()
    mouse.sync()
    assert mouse.document.graph.edges == graph.edges
    near_source = along(mouse.scene.wires[graph.edges[1]].control)[4]
    mouse.drag(near_source, mouse.socket("r0", "out", "y"))
    assert Edge("r0", "y", "r2", "x") in mouse.document.graph.edges


def test_all_wires_of_an_output_move_together():
    nodes = {i: Node(i, "relu", {}, (0.0 if i in "ab" else 400.0, 150.0 * place)) for place, i in enumerate("abcd")}
    graph = Graph(nodes=nodes, edges=(Edge("a", "y", "c", "x"), Edge("a", "y", "d", "x")))
    mouse = Mouse(Document(graph))
    mouse.drag(mouse.socket("a", "out", "y"), mouse.socket("b", "out", "y"), held="Ctrl")
    assert mouse.document.graph.edges == (Edge("b", "y", "c", "x"), Edge("b", "y", "d", "x"))
    assert len(mouse.document.undo_labels) == 1


def test_a_wire_that_does_not_fit_is_refused_with_its_reason():
    graph = Graph(nodes={"d": Node("d", "digits"), "l": Node("l", "Linear", {}, (400.0, 0.0))})
    mouse = Mouse(Document(graph))
    mouse.drag(mouse.socket("d", "out", "label"), mouse.socket("l", "in", "x"))
    refused = mouse.asked[-1]
    assert isinstance(refused, Refused)
    assert refused.refusal.reason == "d.label is u8, but l.x takes floats."
    assert mouse.document.graph.edges == ()
    cycle = Mouse(Document(relus(3)))
    cycle.drag(cycle.socket("r2", "out", "y"), cycle.socket("r0", "in", "x"))
    assert isinstance(cycle.asked[-1], Refused)
    assert cycle.asked[-1].refusal.code == "wire.cycle"


def test_wires_dropped_on_nodes_and_on_nothing():
    mouse = Mouse(Document(Graph(nodes={"a": Node("a", "relu"), "b": Node("b", "mse_loss", {}, (400.0, 0.0))})))
    mouse.drag(mouse.socket("a", "out", "y"), mouse.head("b"))
    mouse.drag(mouse.socket("a", "out", "y"), mouse.head("b"))
    assert [edge.target_socket for edge in mouse.document.graph.edges] == ["prediction", "target"]
    mouse.drag(mouse.socket("a", "out", "y"), (200.0, 500.0))
    asked = mouse.asked[-1]
    assert isinstance(asked, OpenSearch)
    assert asked.socket is not None
    assert (asked.at, asked.socket.socket) == ((200.0, 500.0), "y")


def test_a_node_dropped_on_a_wire_goes_into_it():
    graph = relus(2, gap=600.0)
    nodes = {**graph.nodes, "t": Node("t", "tanh", {}, (200.0, 400.0))}
    mouse = Mouse(Document(Graph(nodes=nodes, edges=graph.edges)))
    middle = along(mouse.scene.wires[graph.edges[0]].control)[10]
    head = mouse.head("t")
    view = mouse.scene.views["t"]
    offset = (middle[0] - view.x - view.width / 2, middle[1] - view.y - view.height / 2)
    mouse.drag(head, (head[0] + offset[0], head[1] + offset[1]))
    assert mouse.document.graph.edges == (Edge("r0", "y", "t", "x"), Edge("t", "y", "r1", "x"))
    assert len(mouse.document.undo_labels) == 1
    mouse.document.undo()
    assert mouse.document.graph.nodes["t"].position == (200.0, 400.0)
    assert mouse.document.graph.edges == graph.edges


def test_cutting_panning_menus_and_double_clicks():
    mouse = Mouse(Document(relus(3)))
    middle = along(mouse.scene.wires[Edge("r0", "y", "r1", "x")].control)[10]
    mouse.drag((middle[0], middle[1] - 60), (middle[0], middle[1] + 60), RIGHT)
    assert mouse.document.graph.edges == (Edge("r1", "y", "r2", "x"),)
    mouse.drag((0.0, 300.0), (40.0, 350.0), MIDDLE)
    assert sum(p.dx for p in mouse.asked if isinstance(p, Pan)) == pytest.approx(40)
    mouse.click(mouse.head("r1"), RIGHT)
    assert isinstance(mouse.asked[-1], OpenMenu)
    assert mouse.document.selection.nodes == {"r1"}
    mouse.double_click(mouse.head("r1"))
    assert isinstance(mouse.asked[-1], Edit)
    mouse.double_click((0.0, 900.0))
    assert isinstance(mouse.asked[-1], OpenSearch)
    wire = along(mouse.scene.wires[Edge("r1", "y", "r2", "x")].control)[10]
    mouse.double_click(wire)
    assert "reroute" in mouse.document.graph.nodes
    mouse.document.do(Collapse(frozenset(["r0"]), "G"))
    mouse.sync()
    mouse.double_click(mouse.head("G"))
    assert mouse.document.state.inside == ("G",)
    assert not any(isinstance(asked, Enter) for asked in mouse.asked)


def test_frames_carry_their_nodes():
    graph = Graph(nodes={"a": Node("a", "relu", {}, (50.0, 80.0))}, frames=(Frame("f", (0.0, 0.0), (400.0, 300.0)),))
    mouse = Mouse(Document(graph))
    mouse.drag((200.0, 10.0), (300.0, 60.0))
    assert mouse.document.graph.nodes["a"].position == pytest.approx((150.0, 130.0))
    assert mouse.document.graph.frames[0].position == pytest.approx((100.0, 50.0))
    mouse.drag((500.0, 350.0), (620.0, 400.0))
    assert mouse.document.graph.frames[0].size == pytest.approx((520.0, 350.0))
    assert len(mouse.document.undo_labels) == 2
