"""Declarations of subgraphs' instances: deep chains and many instances cost no more than their definitions are many."""

from __future__ import annotations

from dataclasses import replace

import pytest

from munet import Edge, Graph, Node
from studio import instances as module
from studio.commands import SetParam
from studio.document import Document
from studio.essence import essence_of
from studio.nodeviews import declaration_of, node_view

DEEP, WIDE = 60, 3


def nested(depth: int, width: int) -> Graph:
    """`width` instances in each of `depth` definitions; the innermost hold Linear layers whose features are given out."""
    subgraphs: dict[str, Graph] = {}
    for level in range(depth):
        nodes = {
            "in": Node("in", "subgraph_input", {"socket": "x", "doc": f"of {level}"} if level == depth - 3 else {"socket": "x"})
        }
        nodes |= {"out": Node("out", "subgraph_output", {"socket": "y"})}
        edges, last = list[Edge](), ("in", "x")
        for index in range(width):
            inner = Node(f"k{index}", "subgraph", {"graph": f"s{level + 1}"})
            nodes[inner.id] = inner if level < depth - 1 else Node(inner.id, "Linear", {"out_features": 7})
            edges.append(Edge(*last, inner.id, "x"))
            last = (inner.id, "y")
        nodes["given"] = Node("given", "subgraph_parameter", {"name": "features", "node": "k0", "param": "features"})
        if level == depth - 1:
            nodes["given"] = replace(nodes["given"], params={"name": "features", "node": "k0", "param": "out_features"})
        edges.append(Edge(*last, "out", "x"))
        subgraphs[f"s{level}"] = Graph(f"s{level}", nodes, tuple(edges))
    return Graph(nodes={"deep": Node("deep", "subgraph", {"graph": "s0"})}, subgraphs=subgraphs)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Definitions whose interface was read."""
    names: list[str] = []
    original = module.interface

    def counted(definition: Graph):
        names.append(definition.name)
        return original(definition)

    monkeypatch.setattr(module, "interface", counted)
    return names


def test_each_definition_is_read_once_and_once_more_when_it_has_changed(read: list[str]):
    document = Document(nested(DEEP, WIDE))
    essence_of(document.graph)
    for node in document.graph.nodes.values():
        node_view(document.graph, node)
    assert sorted(read) == sorted(f"s{level}" for level in range(DEEP))
    read.clear()
    document.enter("deep")
    assert document.do(SetParam(("given",), "name", "width"))
    essence_of(document.graph)
    assert read == ["s0"]


def test_what_lies_deep_is_found_whatever_the_depth():
    graph = nested(2000, 1)
    declared = declaration_of(graph, graph.nodes["deep"])
    assert declared is not None
    (into,), (features,) = declared.inputs, declared.params
    assert (into.pattern, into.doc) == ("*batch in", "of 1997")
    assert (features.name, features.default, features.type) == ("features", 7, "int")


def test_a_definition_that_holds_itself_ends():
    graph = nested(2, 1)
    inner = graph.subgraphs["s1"]
    held = replace(inner, nodes={**inner.nodes, "k0": Node("k0", "subgraph", {"graph": "s0"})})
    graph = replace(graph, subgraphs={**graph.subgraphs, "s1": held})
    declared = declaration_of(graph, graph.nodes["deep"])
    assert declared is not None and [socket.name for socket in declared.inputs] == ["x"]
