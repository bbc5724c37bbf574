"""Any sequence of commands can be undone and done again; what was copied is what is pasted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from munet import Edge, Frame, Node, dump_project, parse_project
from studio import clipboard, subgraph_commands
from studio.commands import (
    AddFrame,
    AddNode,
    Connect,
    Delete,
    Disconnect,
    Duplicate,
    EditFrame,
    Move,
    Paste,
    Place,
    Rename,
    SetField,
    SetParam,
    Several,
    add_reroute,
    toggle_mute,
)
from studio.document import Command, Document, Selection, State, selected
from studio.edits import EditRefused
from studio.subgraph_commands import Collapse, Expand, Promote
from tests.studio.helpers import chain, opened, project

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
