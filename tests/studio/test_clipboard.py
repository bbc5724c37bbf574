"""Copy and paste; subgraphs made, edited, pasted and taken apart (CASES 52, 56)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from munet import Edge, Graph, Node, dump_project, flatten, parse_project, validate
from studio import clipboard, commands
from studio.commands import (
    Delete,
    Duplicate,
    Paste,
    Rename,
    SetParam,
)
from studio.document import Document, locate, selected
from studio.edits import EditRefused
from studio.subgraph_commands import AddSubgraph, Collapse, DeleteSubgraph, DeleteUnused, Expand, Promote, RenameSubgraph
from tests.studio.helpers import chain, opened


def test_the_clipboard_is_read_in_one_place():
    """Dear PyGui's own reader ends the process where the clipboard holds no text."""
    for path in Path(clipboard.__file__).parent.rglob("*.py"):
        words = path.read_text(encoding="utf-8")
        assert "get_clipboard_text" not in words, path
        assert path.name == "copying.py" or "set_clipboard_text" not in words, path


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


@pytest.mark.parametrize("text", ["", " \n", "hello", "[1, 2]", '{"munet": {"format": 1}}', dump_project(Graph())])
def test_what_is_no_piece_of_a_drawing_is_not_pasted(text: str):
    document = opened()
    before = document.state
    with pytest.raises(EditRefused, match=r"clipboard holds no (nodes|text)"):
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


def test_definitions_that_nobody_uses_go_together_with_those_that_only_they_use():
    document, _ = collapsed()
    with pytest.raises(EditRefused, match="every subgraph is used"):
        document.do(DeleteUnused())
    document.do(Collapse(frozenset(["Network"]), "Outer"))
    document.do(Duplicate())
    assert set(document.graph.subgraphs) == {"Network", "Outer"}
    (first, second) = [i for i, n in document.graph.nodes.items() if n.operator == "subgraph"]
    document.do(Delete(selected([first])))
    with pytest.raises(EditRefused):
        document.do(DeleteUnused())
    document.do(Delete(selected([second])))
    document.do(DeleteUnused())
    assert document.graph.subgraphs == {}
    document.undo()
    assert set(document.graph.subgraphs) == {"Network", "Outer"}


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


def test_what_differs_deep_inside_is_another_definition():
    """Definitions that only hold one that differs get new names, too; each is looked at once."""
    depth = 400
    inner = {f"s{i}": Graph(f"s{i}", {"k": Node("k", "subgraph", {"graph": f"s{i + 1}"})}) for i in range(depth)}
    one = {**inner, f"s{depth}": replace(chain("relu"), name=f"s{depth}"), "alone": replace(chain("tanh"), name="alone")}
    nodes = {name: Node(name, "subgraph", {"graph": name}) for name in ("s0", "alone")}
    document = Document(Graph(nodes=nodes, subgraphs=one))
    document.select_all()
    document.do(Duplicate())
    assert set(document.graph.subgraphs) == set(one)
    other = Graph(nodes=nodes, subgraphs={**one, f"s{depth}": replace(chain("silu"), name=f"s{depth}")})
    document.do(Paste(dump_project(other)))
    assert len(document.graph.subgraphs) == 2 * len(one) - 1
