"""Renaming, making subgraphs, taking them apart, undo: a session that trains keeps every weight bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from munet import Graph, Session
from studio.commands import AddNode, Duplicate, Rename, SetField
from studio.document import Command, Document, selected
from studio.edits import SUBGRAPH, EditRefused
from studio.lineage import Lineage, renamed
from studio.subgraph_commands import Collapse, Expand
from tests.studio.helpers import opened


def marked() -> Document:
    """The spiral network; its nodes carry their first names as notes, which stay with them."""
    document = opened("spiral_mlp")
    for id_ in document.graph.nodes:
        document.do(SetField((id_,), "note", id_))
    return document


def by_note(session: Session) -> dict[str, Any]:
    """All states, with nodes under their notes."""
    notes = {path: node.note for path, node in session.nodes.items()}
    found: dict[str, Any] = {}
    for name, array in session.states().items():
        for path in sorted(notes, key=len, reverse=True):
            name = f"/{name}".replace(f"/{path}/", f"/<{notes[path]}>/")[1:]
        found[name] = array
    return found


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert set(one) == set(other)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def command_of(document: Document, kind: str, a: int, b: int) -> Command | None:
    ids = list(document.part.nodes)
    one, near = ids[a % len(ids)], frozenset(ids[a % len(ids) :][: 1 + b % 3])
    groups = [id_ for id_ in ids if document.part.nodes[id_].operator == SUBGRAPH]
    match kind:
        case "rename":
            # names of other nodes, and names that have been used before, are those that could be mixed up
            return Rename(one, ["linear 1", "linear 2", "relu 1", "x", "x/y", f"n{b}"][b % 6])
        case "collapse":
            return Collapse(near, f"group {b}")
        case "expand":
            return Expand(groups[a % len(groups)]) if groups else None
        case _:
            return None


kinds = st.sampled_from(["rename", "rename", "collapse", "expand", "undo", "redo", "enter", "leave", "compile"])
sequences = st.lists(st.tuples(kinds, st.integers(0, 30), st.integers(0, 30)), max_size=16)


def walk(document: Document, kind: str, a: int, b: int) -> None:
    try:
        if kind == "undo":
            document.undo()
        elif kind == "redo":
            document.redo()
        elif kind == "enter":
            document.enter(list(document.part.nodes)[a % len(document.part.nodes)])
        elif kind == "leave":
            document.leave()
        elif command := command_of(document, kind, a, b):
            document.do(command)
    except EditRefused:
        return


@settings(max_examples=25, deadline=None)
@given(sequences)
def test_any_sequence_keeps_every_weight(sequence: list[tuple[str, int, int]]):
    document = marked()
    for _ in range(3):  # nothing before the marks is undone
        document.seal()
    start = Document(document.graph)
    with Session.open(start.graph, "cpu") as session:
        session.step(2)
        before, known = by_note(session), start.state
        for kind, a, b in [*sequence, ("compile", 0, 0)]:
            walk(start, kind, a, b)
            if kind == "compile":
                now = start.state
                names = renamed(known.graph, known.lineage, now.graph, now.lineage)
                carried = session.replace(now.graph, renamed=names)
                assert (carried.started, carried.dropped) == ((), ())
                same(by_note(session), before)
                known = now


def test_a_new_node_with_an_old_name_is_new():
    document = Document(marked().graph)
    first = document.state
    document.do(Rename("linear 1", "dense"))
    document.do(AddNode(replace(document.part.nodes["dense"], id="linear 1", note="new")))
    document.do(Rename("linear 1", "other"))
    document.do(AddNode(replace(document.part.nodes["dense"], id="linear 1", note="newer")))
    now = document.state
    assert renamed(first.graph, first.lineage, now.graph, now.lineage) == {"linear 1": "dense"}
    between = now
    document.do(Rename("linear 1", "linear 9"))
    now = document.state
    assert renamed(between.graph, between.lineage, now.graph, now.lineage) == {"linear 1": "linear 9"}
    assert renamed(now.graph, now.lineage, first.graph, first.lineage) == {"dense": "linear 1"}


def test_what_is_duplicated_is_new_in_all_instances():
    document = Document(marked().graph)
    document.do(Collapse(frozenset({"linear 2"}), "block"))
    first = document.state
    document.select(selected({"block"}))
    document.do(Duplicate())
    document.enter("block")
    document.do(Rename("linear 2", "dense"))
    now = document.state
    found = renamed(first.graph, first.lineage, now.graph, now.lineage)
    assert found == {"block/linear 2": "block/dense"}
    copy = next(id_ for id_ in now.graph.nodes if id_.startswith("block") and id_ != "block")
    document.undo()
    back = document.state
    assert renamed(now.graph, now.lineage, back.graph, back.lineage) == {
        "block/dense": "block/linear 2",
        f"{copy}/dense": f"{copy}/linear 2",
    }


def test_nothing_renamed_is_nothing_to_say():
    assert renamed(Graph(), Lineage(), Graph(), Lineage()) == {}
    lineage = Lineage()
    assert lineage.moved({}) is lineage
