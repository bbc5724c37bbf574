"""Every command, undo and redo of all of them, grouping and merging; clipboard and subgraphs (CASES 47, 48, 49, 52, 56)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from munet import Edge, Frame, Graph, Node, Run, dump_project, flatten, parse_project, validate
from studio import clipboard, commands, subgraph_commands
from studio.commands import (
    AddFrame,
    AddNode,
    Connect,
    Delete,
    Disconnect,
    Duplicate,
    EditFrame,
    InsertOnWire,
    Move,
    Paste,
    Place,
    Rename,
    SetField,
    SetParam,
    SetProject,
    Several,
    add_reroute,
    toggle_mute,
)
from studio.document import Command, Document, Selection, State, locate, selected
from studio.edits import EditRefused, fresh_id
from studio.subgraph_commands import AddSubgraph, Collapse, DeleteSubgraph, Expand, Promote, RenameSubgraph
from tests.studio.helpers import project


def opened(name: str = "spiral_mlp") -> Document:
    return Document(project(name))


def chain(*operators: str) -> Graph:
    """Nodes "a", "b", ... wired one behind the other."""
    nodes = {chr(97 + i): Node(chr(97 + i), operator, {}, (200.0 * i, 0.0)) for i, operator in enumerate(operators)}
    ids = list(nodes)
    return Graph(nodes=nodes, edges=tuple(Edge(s, "y", t, "x") for s, t in zip(ids, ids[1:], strict=False)))


# -- single commands -------------------------------------------------------------------------------------------------------


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


# -- clipboard -------------------------------------------------------------------------------------------------------------


def test_pasting_into_another_project_changes_only_that_one():  # CASES 56
    one, other = Document(chain("relu", "tanh", "sigmoid")), Document(chain("relu", "tanh"))
    before = one.graph
    one.select(selected(["a", "b"]))
    text = clipboard.copy(one.state)
    other.do(Paste(text, (1000.0, 500.0)))
    assert one.graph is before
    assert len(other.graph.nodes) == 4
    assert other.selection.nodes == set(other.graph.nodes) - {"a", "b"}
    new = [edge for edge in other.graph.edges if edge.source in other.selection.nodes]
    assert len(new) == 1
    assert min(other.graph.nodes[i].position for i in other.selection.nodes) == (1000.0, 500.0)


@pytest.mark.parametrize("text", ["", "hello", "[1, 2]", '{"munet": {"format": 1}}', dump_project(Graph())])
def test_what_is_no_piece_of_a_drawing_is_not_pasted(text: str):
    document = opened()
    before = document.state
    with pytest.raises(EditRefused, match="clipboard holds no nodes"):
        document.do(Paste(text))
    assert document.state is before


def test_duplicates_keep_inner_wires_and_if_wanted_those_into_them():
    document = Document(chain("relu", "tanh", "sigmoid"))
    document.select(selected(["b", "c"]))
    document.do(Duplicate())
    assert set(document.graph.nodes) == {"a", "b", "c", "b 2", "c 2"}
    assert Edge("b 2", "y", "c 2", "x") in document.graph.edges
    assert len(document.graph.edges) == 3
    document.undo()
    document.do(Duplicate(keep_inputs=True))
    assert Edge("a", "y", "b 2", "x") in document.graph.edges


def test_cutting_is_copying_and_deleting():
    document = Document(chain("relu", "tanh", "sigmoid"))
    document.select(selected(["a", "b"]))
    text, command = commands.cut(document.state)
    document.do(command)
    assert list(document.graph.nodes) == ["c"]
    document.do(Paste(text))
    assert document.graph.edges == (Edge("a", "y", "b", "x"),)


# -- subgraphs -------------------------------------------------------------------------------------------------------------


def collapsed() -> tuple[Document, Graph]:
    document = opened()
    before = document.graph
    inner = [id_ for id_, n in before.nodes.items() if n.operator in ("Linear", "relu", "tanh")]
    document.do(Collapse(frozenset(inner), "Network"))
    return document, before


def test_collapse_changes_nothing_that_is_computed():
    document, before = collapsed()
    assert validate(document.graph) == []
    assert "Network" in document.graph.subgraphs
    flat = flatten(document.graph).graph
    assert sorted(n.operator for n in flat.nodes.values()) == sorted(n.operator for n in before.nodes.values())
    plain = [(e.source.rpartition("/")[2], e.source_socket, e.target.rpartition("/")[2], e.target_socket) for e in flat.edges]
    assert sorted(plain) == sorted((e.source, e.source_socket, e.target, e.target_socket) for e in before.edges)
    assert document.selection.nodes == {"Network"}
    assert parse_project(dump_project(document.graph)) == document.graph


def test_expand_takes_collapse_back():
    document, before = collapsed()
    document.do(Expand("Network"))
    graph = document.graph
    assert set(graph.nodes) == set(before.nodes)
    assert set(graph.edges) == set(before.edges)
    for id_, node in graph.nodes.items():
        assert node.position == pytest.approx(before.nodes[id_].position, abs=1e-6)


def test_promoted_parameters_and_editing_inside():
    document, _ = collapsed()
    document.enter("Network")
    assert document.state.owner == "Network"
    linear = next(id_ for id_, n in document.part.nodes.items() if n.operator == "Linear")
    document.do(Promote(linear, "out_features", "width"))
    with pytest.raises(EditRefused, match="given out already"):
        document.do(Promote(linear, "out_features", "other"))
    document.do(Rename(linear, "first"))
    document.leave()
    assert document.selection.nodes == {"Network"}
    document.do(SetParam(("Network",), "width", 13))
    assert flatten(document.graph).graph.nodes["Network/first"].params["out_features"] == 13
    document.do(Expand("Network"))
    assert document.graph.nodes["first"].params["out_features"] == 13


def test_two_instances_follow_their_definition():
    document, _ = collapsed()
    document.do(Duplicate())
    assert {n.params["graph"] for n in document.graph.nodes.values() if n.operator == "subgraph"} == {"Network"}
    document.do(RenameSubgraph("Network", "Body"))
    assert {n.params["graph"] for n in document.graph.nodes.values() if n.operator == "subgraph"} == {"Body"}
    with pytest.raises(EditRefused, match="is used by"):
        document.do(DeleteSubgraph("Body"))
    document.do(Delete(selected([i for i, n in document.graph.nodes.items() if n.operator == "subgraph"])))
    document.do(DeleteSubgraph("Body"))
    assert document.graph.subgraphs == {}


def test_a_subgraph_cannot_be_pasted_into_itself():  # CASES 52
    document, _ = collapsed()
    document.select(selected(["Network"]))
    text = clipboard.copy(document.state)
    document.do(Collapse(frozenset(["Network"]), "Outer"))
    outer = clipboard.copy(document.state)
    document.enter("Outer")
    document.enter("Network")
    before = document.state
    for content in (text, outer):
        with pytest.raises(EditRefused, match="may not contain itself"):
            document.do(Paste(content))
    with pytest.raises(EditRefused, match="may not contain itself"):
        document.do(AddSubgraph(Graph(subgraphs=document.graph.subgraphs), "Outer"))
    assert document.state is before


def test_a_pasted_definition_of_the_same_name_but_other_content_gets_another_name():
    document, _ = collapsed()
    other, _ = collapsed()
    other.enter("Network")
    linear = next(id_ for id_, n in other.part.nodes.items() if n.operator == "Linear")
    other.do(SetParam((linear,), "out_features", 5))
    other.leave()
    document.do(Paste(clipboard.copy(other.state)))
    assert set(document.graph.subgraphs) == {"Network", "Network 2"}
    assert document.graph.nodes["Network 2"].params["graph"] == "Network 2"
    document.do(Paste(clipboard.copy(document.state)))
    assert set(document.graph.subgraphs) == {"Network", "Network 2"}


def test_what_lies_between_cannot_be_left_out():
    document = Document(chain("relu", "tanh", "sigmoid"))
    with pytest.raises(EditRefused, match='"b" lies between'):
        document.do(Collapse(frozenset("ac"), "Group"))


def test_paths_of_problems_are_found():
    document, _ = collapsed()
    linear = next(id_ for id_, n in document.graph.subgraphs["Network"].nodes.items() if n.operator == "Linear")
    assert locate(document.graph, f"Network/{linear}") == (("Network",), linear)
    assert document.go_to(f"Network/{linear}") == linear
    assert document.state.inside == ("Network",)
    assert document.go_to("nowhere") == ""
    slashed = Graph(nodes={"a/b": Node("a/b", "relu")})
    assert locate(slashed, "a/b") == ((), "a/b")


# -- any sequence ----------------------------------------------------------------------------------------------------------

Draw = Callable[[st.SearchStrategy[object]], object]


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, int, int, float]]:
    kinds = [
        "add", "delete", "bridge", "move", "rename", "connect", "disconnect", "param", "mute", "note", "frame", "paste",
        "duplicate", "reroute", "collapse", "expand", "enter", "leave", "select", "place", "several", "promote", "seal", "frames",
    ]  # fmt: skip
    one = st.tuples(st.sampled_from(kinds), st.integers(0, 30), st.integers(0, 30), st.floats(-500, 500, width=32))
    return draw(st.lists(one, max_size=25))


def command_of(document: Document, kind: str, a: int, b: int, x: float) -> Command | None:
    """A command of a kind on whatever is there; None for kinds that are none."""
    part, state = document.part, document.state
    ids, edges = list(part.nodes), list(part.edges)
    one, two = (ids[a % len(ids)], ids[b % len(ids)]) if ids else ("", "")
    near = frozenset(ids[a % len(ids) : a % len(ids) + 1 + b % 4]) if ids else frozenset[str]()
    operator = ["relu", "add", "concat", "Linear", "mse_loss", "Adam", "xor"][a % 7]
    makers: dict[str, Callable[[], Command | None]] = {
        "add": lambda: AddNode(Node(operator, operator, {}, (x, -x))),
        "delete": lambda: Delete(Selection(near, frozenset(edges[:1]), frozenset({0} if part.frames else ()))),
        "bridge": lambda: Delete(selected(near), bridge=True),
        "move": lambda: Move(selected(near), x, 1.0, f"drag {b % 3}"),
        "rename": lambda: Rename(one, f"name {b}") if ids else None,
        "connect": lambda: Connect(Edge(one, "y", two, "x"), b % 2 == 0, edges[a % len(edges)] if edges and b % 3 == 0 else None),
        "disconnect": lambda: Disconnect(frozenset(edges[a % len(edges) :][:2])) if edges else None,
        "param": lambda: SetParam((one,), "out_features", b or None, f"slider {a % 2}"),
        "mute": lambda: toggle_mute(state),
        "note": lambda: SetField(tuple(near), "note", f"note {b}"),
        "frame": lambda: AddFrame(Frame(f"frame {a}", (x, x), (100.0, 50.0))),
        "frames": lambda: EditFrame(0, {"title": f"t{b}"}) if part.frames else None,
        "paste": lambda: Paste(clipboard.copy(state), (x, x)),
        "duplicate": lambda: Duplicate(keep_inputs=bool(b % 2)),
        "reroute": lambda: add_reroute(edges[a % len(edges)], (x, x)) if edges else None,
        "collapse": lambda: Collapse(near, f"Group {b}"),
        "expand": lambda: Expand(one),
        "place": lambda: Place({id_: (float(i), x) for i, id_ in enumerate(near)}),
        "several": lambda: Several((Rename(one, f"n {a}"), AddNode(Node("relu", "relu"))), "both"),
        "promote": lambda: Promote(one, "out_features", f"p{b}"),
    }
    return makers[kind]() if kind in makers else None


def look(document: Document, kind: str, a: int) -> None:
    ids = list(document.part.nodes)
    if kind == "enter" and ids:
        document.enter(ids[a % len(ids)])
    elif kind == "leave":
        document.leave()
    elif kind == "select":
        document.select(selected(ids[: 1 + a % 5], document.part.edges[:1]))
    elif kind == "seal":
        document.seal()


@settings(max_examples=150, deadline=None)
@given(steps(), st.sampled_from(["spiral_mlp", "xor"]))
def test_any_sequence_can_be_undone_and_done_again(sequence: list[tuple[str, int, int, float]], name: str):
    document = opened(name)
    graphs = [document.graph]
    for kind, a, b, x in sequence:
        try:
            command = command_of(document, kind, a, b, x)
            if command is not None:
                document.do(command)
            else:
                look(document, kind, a)
        except EditRefused:
            pass
        if document.graph is not graphs[-1]:
            graphs.append(document.graph)
            assert parse_project(dump_project(document.graph)) == document.graph
    end, count = document.state, len(document.undo_labels)
    for _ in range(count):
        assert document.undo()
        assert document.state.part is not None  # breadcrumbs lead somewhere
    assert document.graph is graphs[0]
    assert document.undo() == ""
    for _ in range(count):
        assert document.redo()
    assert document.graph is end.graph
    assert document.redo() == ""


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(0, 30), min_size=1), st.floats(-900, 900, width=32))
def test_what_was_copied_is_what_is_pasted(chosen: set[int], x: float):
    document = opened("autoencoder")
    ids = [id_ for place, id_ in enumerate(document.graph.nodes) if place in chosen]
    document.select(selected(ids))
    if not ids:
        return
    piece = clipboard.fragment(document.state)
    other = Document(project("xor"))
    before = other.graph
    other.do(Paste(clipboard.copy(document.state), (x, x)))
    new = [other.graph.nodes[id_] for id_ in other.graph.nodes if id_ in other.selection.nodes]
    assert [(n.operator, n.params, n.note) for n in new] == [(n.operator, n.params, n.note) for n in piece.nodes.values()]
    assert len(other.graph.edges) == len(before.edges) + len(piece.edges)
    assert all(other.graph.nodes[id_] is node for id_, node in before.nodes.items())
    again = clipboard.fragment(other.state)
    assert [e.source_socket for e in again.edges] == [e.source_socket for e in piece.edges]


def test_states_are_shared_not_copied():
    document = Document(replace(chain("relu", "tanh")))
    node = document.graph.nodes["b"]
    document.do(Move(selected(["a"]), 1.0, 1.0))
    assert document.graph.nodes["b"] is node
    assert isinstance(document.state, State)
    assert subgraph_commands.Collapse(frozenset("a"), "x").label == 'Collapse into "x"'
