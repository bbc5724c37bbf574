"""Parameters that a subgraph gives out: what an instance sets holds inside."""

from __future__ import annotations

from dataclasses import replace

from munet import Graph, Node
from studio.document import State
from studio.grouping import set_outside


def given(name: str, node: str, param: str) -> Node:
    return Node("g", "subgraph_parameter", {"name": name, "node": node, "param": param})


def two_levels(outer: dict[str, int], inner: dict[str, int]) -> State:
    """Instance "a" of "outer" holds instance "b" of "inner", which holds a Linear layer of 16 features."""
    linear = Node("linear", "Linear", {"out_features": 16})
    parts = {
        "inner": Graph("inner", {"linear": linear, "g": given("width", "linear", "out_features")}),
        "outer": Graph("outer", {"b": Node("b", "subgraph", {"graph": "inner", **inner}), "g": given("size", "b", "width")}),
    }
    root = {"a": Node("a", "subgraph", {"graph": "outer", **outer})}
    return State(Graph(nodes=root, subgraphs=parts), inside=("a", "b"))


def test_the_outermost_instance_that_sets_a_parameter_decides():
    assert set_outside(two_levels({}, {}), "linear", "out_features") is None
    assert set_outside(two_levels({}, {"width": 20}), "linear", "out_features") == (20, "b")
    assert set_outside(two_levels({"size": 24}, {"width": 20}), "linear", "out_features") == (24, "a")


def test_what_is_not_given_out_is_its_own():
    state = two_levels({"size": 24}, {})
    assert set_outside(state, "linear", "bias") is None
    assert set_outside(replace(state, inside=()), "a", "size") is None
