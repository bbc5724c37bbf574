"""Every command on its own, merging and grouping (CASES 47, 48, 49)."""

from __future__ import annotations

import json
import math

import pytest

from munet import Edge, Frame, Graph, Node, Run, dump_project, flatten, parse_project
from studio.commands import (
    AddFrame,
    AddNode,
    Connect,
    Delete,
    Duplicate,
    EditFrame,
    InsertOnWire,
    Move,
    Rename,
    SetField,
    SetParam,
    SetProject,
    Several,
    add_reroute,
    toggle_mute,
)
from studio.document import Document, selected
from studio.edits import EditRefused, fresh_id
from tests.studio.helpers import chain, opened


def test_adding_makes_ids_free_and_selects():
    document = Document()
    for _ in range(3):
        document.do(AddNode(Node("relu", "relu")))
    assert list(document.graph.nodes) == ["relu", "relu 2", "relu 3"]
    assert document.selection == selected(["relu 3"])
    assert fresh_id(["conv 1"], "conv 1") == "conv 2"


def test_ids_used_again_link_at_once_fifty_times():  # CASES 47
    document = Document()
    for _ in range(50):
        for _ in range(6):
            document.do(AddNode(Node("relu", "relu")))
        document.do(Delete(selected(document.graph.nodes)))
        assert document.graph.nodes == {}
        assert document.graph.edges == ()
        document.do(AddNode(Node("relu", "relu")))
        document.do(AddNode(Node("relu", "relu")))
        document.do(Connect(Edge("relu", "y", "relu 2", "x")))
        assert document.graph.edges == (Edge("relu", "y", "relu 2", "x"),)
        document.do(Delete(selected(document.graph.nodes)))


def test_replacing_a_wire_is_one_step_of_undo():  # CASES 48
    graph = chain("relu", "relu", "relu")
    document = Document(graph)
    document.do(Connect(Edge("a", "y", "c", "x"), replaces=Edge("b", "y", "c", "x")))
    assert document.graph.edges == (Edge("a", "y", "b", "x"), Edge("a", "y", "c", "x"))
    document.do(Connect(Edge("b", "y", "c", "x")))  # takes the place of what is there
    assert document.graph.edges == (Edge("a", "y", "b", "x"), Edge("b", "y", "c", "x"))
    assert len(document.undo_labels) == 2
    document.undo()
    document.undo()
    assert document.graph == graph
    assert document.undo() == ""


def test_a_drawing_grows_no_larger_than_a_file_may_be():
    document = Document(Graph(nodes={"a": Node("a", "constant", {"value": (1.0,) * 30_000})}))
    with pytest.raises(EditRefused, match="too large to be saved"):
        for _ in range(12):
            document.select_all()
            document.do(Duplicate())
    assert len(document.graph.nodes) == 8
    assert parse_project(dump_project(document.graph)) == document.graph
    document.do(SetField(("a",), "note", "x"))
    with pytest.raises(EditRefused, match="bytes"):
        Document(chain("relu")).do(SetField(("a",), "note", "x" * 2**24))


def test_variadic_sockets_keep_several_wires_in_order():
    graph = Graph(nodes={i: Node(i, "relu") for i in "abc"} | {"cat": Node("cat", "concat")})
    document = Document(graph)
    for source in "abc":
        document.do(Connect(Edge(source, "y", "cat", "x"), variadic=True))
    document.do(Connect(Edge("a", "y", "cat", "x"), variadic=True, replaces=Edge("b", "y", "cat", "x")))
    assert [edge.source for edge in document.graph.edges] == ["a", "c"]


def test_delete_may_join_what_is_left():
    document = Document(chain("relu", "tanh", "sigmoid", "relu"))
    document.do(Delete(selected(["b", "c"]), bridge=True))
    assert document.graph.edges == (Edge("a", "y", "d", "x"),)


def test_renaming_is_followed_by_wires_and_selection():
    document = Document(chain("relu", "tanh", "relu"))
    document.select(selected(["b"]))
    document.do(Rename("b", "卷积"))
    assert list(document.graph.nodes) == ["a", "卷积", "c"]
    assert document.graph.edges == (Edge("a", "y", "卷积", "x"), Edge("卷积", "y", "c", "x"))
    assert document.selection.nodes == {"卷积"}
    for bad in ("a", "", "x.y", " x"):
        with pytest.raises(EditRefused):
            document.do(Rename("卷积", bad))


def test_parameters_and_their_defaults():
    document = opened()
    node = next(id_ for id_, n in document.graph.nodes.items() if n.operator == "Linear")
    document.do(SetParam((node,), "out_features", 77))
    assert document.graph.nodes[node].params["out_features"] == 77
    document.do(SetParam((node,), "out_features", None))
    assert "out_features" not in document.graph.nodes[node].params
    assert not document.do(SetParam((node,), "out_features", None))


def test_not_a_number_is_written_as_strict_json_and_read_back():  # CASES 49
    document = opened()
    adam = next(id_ for id_, n in document.graph.nodes.items() if n.operator.startswith("Adam"))
    document.do(SetParam((adam,), "lr", math.nan))
    document.do(SetParam((adam,), "eps", math.inf))

    def refuse(name: str) -> None:
        raise AssertionError(name)

    text = dump_project(document.graph)
    json.loads(text, parse_constant=refuse)
    again = parse_project(text).nodes[adam].params
    assert math.isnan(again["lr"])
    assert again["eps"] == math.inf


def test_mute_note_freeze_project_and_frames():
    document = opened()
    ids = list(document.graph.nodes)[:2]
    document.select(selected(ids))
    document.do(toggle_mute(document.state))
    assert all(document.graph.nodes[i].muted for i in ids)
    document.do(toggle_mute(document.state))
    assert not any(document.graph.nodes[i].muted for i in ids)
    document.do(SetField((ids[0],), "note", "look here"))
    document.do(SetField((ids[0],), "frozen", True))
    document.do(SetProject("Name", "Note", Run(steps=7)))
    assert (document.graph.name, document.graph.note, document.graph.run.steps) == ("Name", "Note", 7)
    document.do(AddFrame(Frame("Part", (0.0, 0.0), (300.0, 200.0))))
    document.do(EditFrame(0, {"title": "Whole"}))
    document.do(Move(selected(frames=[0]), 5.0, 6.0))
    assert document.graph.frames == (Frame("Whole", (5.0, 6.0), (300.0, 200.0)),)
    document.do(Delete(selected(frames=[0])))
    assert document.graph.frames == ()


def test_inserting_on_a_wire_and_bends():
    document = Document(chain("relu", "tanh"))
    wire = document.graph.edges[0]
    document.do(InsertOnWire(Node("sigmoid", "sigmoid"), wire, "x", "y"))
    assert document.graph.edges == (Edge("a", "y", "sigmoid", "x"), Edge("sigmoid", "y", "b", "x"))
    document.do(add_reroute(document.graph.edges[1], (50.0, 50.0)))
    assert Edge("reroute", "y", "b", "x") in document.graph.edges
    assert flatten(document.graph).graph.edges == (Edge("a", "y", "sigmoid", "x"), Edge("sigmoid", "y", "b", "x"))
    with pytest.raises(EditRefused):
        document.do(InsertOnWire("a", wire, "x", "y"))


def test_several_commands_are_refused_together():
    document = Document(chain("relu", "tanh"))
    before = document.graph
    with pytest.raises(EditRefused):
        document.do(Several((Rename("a", "z"), Rename("b", "z")), "two"))
    assert document.graph is before
    with pytest.raises(EditRefused), document.group("two"):
        document.do(Rename("a", "z"))
        document.do(Rename("b", "z"))
    assert document.graph is before
    assert document.undo_labels == ()
    with document.group("Both"):
        document.do(Rename("a", "y"))
        document.do(Rename("b", "z"))
    assert document.undo_labels == ("Both",)
    document.undo()
    assert document.graph is before


def test_a_drag_is_one_step_and_the_next_drag_another():
    document = Document(chain("relu", "tanh"))
    for _ in range(5):
        document.do(Move(selected(["a"]), 2.0, 1.0, "drag 1"))
    document.seal()
    document.do(Move(selected(["a"]), 2.0, 1.0, "drag 1"))
    assert document.graph.nodes["a"].position == (12.0, 6.0)
    assert len(document.undo_labels) == 2
    document.undo()
    assert document.graph.nodes["a"].position == (10.0, 5.0)
    document.undo()
    assert document.graph.nodes["a"].position == (0.0, 0.0)


def test_versions_and_dirty():
    document = opened()
    version, seen = document.version, document.selection_version
    document.select_all()
    assert document.version == version
    assert document.selection_version > seen
    assert not document.dirty
    document.do(SetProject(name="other"))
    assert document.version > version
    assert document.dirty
    document.undo()
    assert not document.dirty
