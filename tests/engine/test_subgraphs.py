"""Subgraphs: expansion, problems at their instances, training that is the same as of the drawing without them."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import munet.nodes  # noqa: F401  # fills the registry
from munet.engine.errors import ProjectError
from munet.engine.graph import Edge, Graph, Node
from munet.engine.inspect import wire_shapes
from munet.engine.lower import lower
from munet.engine.project import dump_project, parse_project
from munet.engine.session import Session
from munet.engine.subgraphs import MAX_NODES, flatten, interface, promoted_targets
from munet.engine.validate import validate
from tests.engine.drawings import drawing

IN, OUT, PARAM = "subgraph_input", "subgraph_output", "subgraph_parameter"


def block() -> Graph:
    """x -> linear -> act -> y; the width is given out."""
    return replace(
        drawing(
            {
                "in": IN,
                "linear": ("Linear", {"out_features": 5}),
                "act": "tanh",
                "out": OUT,
                "width": (PARAM, {"name": "width", "node": "linear", "param": "out_features"}),
            },
            "in.y -> linear.x",
            "linear.y -> act.x",
            "act.y -> out.x",
        ),
        name="Block",
    )


def xor_of_blocks(**more: Any) -> Graph:
    graph = drawing(
        {
            "data": "xor",
            "a": ("subgraph", {"graph": "Block", "width": 7}, more),
            "b": ("subgraph", {"graph": "Block", "width": 1}),
            "loss": "mse_loss",
            "adam": ("Adam", {"lr": 0.1}),
        },
        "data.x -> a.x",
        "a.y -> b.x",
        "b.y -> loss.prediction",
        "data.y -> loss.target",
        "loss.loss -> adam.loss",
    )
    return replace(graph, subgraphs={"Block": block()})


def by_hand() -> Graph:
    return drawing(
        {
            "data": "xor",
            "a/linear": ("Linear", {"out_features": 7}),
            "a/act": "tanh",
            "b/linear": ("Linear", {"out_features": 1}),
            "b/act": "tanh",
            "loss": "mse_loss",
            "adam": ("Adam", {"lr": 0.1}),
        },
        "data.x -> a/linear.x",
        "a/linear.y -> a/act.x",
        "a/act.y -> b/linear.x",
        "b/linear.y -> b/act.x",
        "b/act.y -> loss.prediction",
        "data.y -> loss.target",
        "loss.loss -> adam.loss",
    )


def texts(graph: Graph) -> list[str]:
    return [str(problem) for problem in validate(graph)]


def test_expansion():
    flat = flatten(xor_of_blocks())
    assert not flat.problems
    assert flat.graph.nodes == by_hand().nodes
    assert set(flat.graph.edges) == set(by_hand().edges)
    assert flat.behind["a", "y"] == ("a/act", "y")
    assert flat.behind["b/in", "y"] == ("a/act", "y")
    assert validate(xor_of_blocks()) == []


def test_a_graph_without_relays_is_left_as_it_is():
    graph = by_hand()
    assert flatten(graph).graph is graph


def test_it_trains_as_the_drawing_without_subgraphs():
    losses = []
    for graph in (xor_of_blocks(), by_hand()):
        with Session.open(graph, "cpu", seed=3) as session:
            for _ in session.train(20):
                pass
            losses.append(session.loss)
            states = session.states()
            assert states["a/linear/weight"].shape == (7, 2)
            assert states["adam/b/linear/bias/m"].shape == (1,) or "b/linear/bias" in " ".join(states)
    assert losses[0] == losses[1]


def test_the_file_form_and_the_interface():
    graph = xor_of_blocks()
    assert parse_project(dump_project(graph)) == graph
    face = interface(graph.subgraphs["Block"])
    assert [(border.name, border.node, border.ends) for border in face.inputs] == [("x", "in", (("linear", "x"),))]
    assert [(border.name, border.ends) for border in face.outputs] == [("y", (("act", "y"),))]
    assert face.params[0].targets == (("linear", "out_features"),)
    assert promoted_targets(graph, "a", "width") == [("a/linear", "out_features")]


def test_shapes_are_known_on_all_wires_that_are_drawn():
    shapes = wire_shapes(xor_of_blocks())
    assert shapes["a", "y"].shape == (4, 7)
    assert shapes["b/in", "y"].shape == (4, 7)


def test_muted_and_frozen_instances():
    muted = xor_of_blocks(muted=True)
    assert list(flatten(muted).graph.nodes) == ["data", "b/linear", "b/act", "loss", "adam"]
    assert validate(muted) == []
    frozen = flatten(xor_of_blocks(frozen=True)).graph.nodes
    assert frozen["a/linear"].frozen
    assert not frozen["b/linear"].frozen


def test_subgraphs_in_subgraphs_and_bends():
    inner = block()
    outer = replace(
        drawing(
            {
                "i": IN,
                "r": "reroute",
                "one": ("subgraph", {"graph": "Block"}),
                "o": OUT,
                "w": (PARAM, {"name": "size", "node": "one", "param": "width"}),
            },
            "i.y -> r.x",
            "r.y -> one.x",
            "one.y -> o.x",
        ),
        name="Outer",
    )
    graph = drawing({"data": "xor", "n": ("subgraph", {"graph": "Outer", "size": 11})}, "data.x -> n.x")
    graph = replace(graph, subgraphs={"Block": inner, "Outer": outer})
    flat = flatten(graph).graph
    assert flat.nodes["n/one/linear"].params == {"out_features": 11}
    assert Edge("data", "x", "n/one/linear", "x") in flat.edges
    assert promoted_targets(graph, "n", "size") == [("n/one/linear", "out_features")]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"params": {"graph": "Nope"}}, 'node "a": as its subgraph it names "Nope", which is not defined.'),
        ({"params": {"graph": "Block", "size": 3}}, 'node "a", size: the subgraph has no parameter "size".'),
        ({"params": {"graph": "Block", "width": 0}}, 'node "a/linear", out_features: out_features is 0.'),
    ],
)
def test_faults_of_an_instance(change: dict[str, Any], expected: str):
    graph = xor_of_blocks()
    graph = replace(graph, nodes={**graph.nodes, "a": replace(graph.nodes["a"], **change)})
    found = texts(graph)
    assert [text.split("\n")[0] for text in found] == [expected]


def test_wires_of_an_instance():
    graph = xor_of_blocks()
    unwired = replace(graph, edges=graph.edges[1:])
    assert texts(unwired) == [
        'node "a", x: nothing is wired to x.\n  Rule: the subgraph needs x.  Try: a wire to x.',
    ]
    wrong = replace(graph, edges=(*graph.edges, Edge("data", "x", "a", "z"), Edge("a", "q", "b", "x")))
    assert [(p.code, p.node, p.socket) for p in validate(wrong)] == [
        ("unknown-socket", "a", "z"),
        ("unknown-socket", "a", "q"),
        ("two-wires", "b", "x"),
    ]


@pytest.mark.parametrize(
    ("wrong", "right", "expected"),
    [
        ("in.x -> linear.x", "in.y -> linear.x", ("a/in", "x", 'a wire to "linear.x" comes from "x"')),
        ("in.nope -> linear.x", "in.y -> linear.x", ("a/in", "nope", 'a wire to "linear.x" comes from "nope"')),
        ("act.y -> out.y", "act.y -> out.x", ("a/out", "y", 'a wire from "act.y" leads to "y"')),
        ("out.y -> act.x", "linear.y -> act.x", ("a/out", "y", 'a wire to "act.x" comes from "y"')),
        ("linear.y -> width.x", "", ("a/width", "x", 'a wire from "linear.y" leads to "x"')),
    ],
)
def test_sockets_that_a_border_does_not_have(wrong: str, right: str, expected: tuple[str, str, str]):
    """Each is told once, at the relay; what hangs behind it does not vanish in silence, nor complain as well."""
    ends = [tuple(end.split(".")) for end in wrong.split(" -> ")]
    edges = [edge for edge in block().edges if not right or edge not in drawing({}, right).edges]
    graph = xor_of_blocks()
    inner = replace(block(), edges=(*edges, Edge(*ends[0], *ends[1])))
    found = validate(replace(graph, subgraphs={"Block": inner}))
    shown = [p for p in found if p.node.startswith("a/")]
    assert [(p.code, p.node, p.socket) for p in shown] == [("unknown-socket", *expected[:2])]
    assert shown[0].found.startswith(expected[2])
    assert {p.code for p in found} == {"unknown-socket"}


@pytest.mark.parametrize(
    ("wires", "socket"),
    [(("data.x -> bend.x", "bend.x -> extra.x"), "x"), (("data.x -> bend.nope", "bend.y -> extra.x"), "nope")],
)
def test_sockets_that_a_bend_does_not_have(wires: tuple[str, str], socket: str):
    """Beside a part that trains: what hangs behind the bend must not be left out without a word."""
    graph = by_hand()
    more = drawing(
        {"bend": "reroute", "extra": ("Linear", {"out_features": 1}), "other": "mse_loss", "sgd": "SGD"},
        *wires,
        "extra.y -> other.prediction",
        "data.y -> other.target",
        "other.loss -> sgd.loss",
    )
    graph = replace(graph, nodes={**graph.nodes, **more.nodes}, edges=(*graph.edges, *more.edges))
    assert [(p.code, p.node, p.socket) for p in validate(graph)] == [("unknown-socket", "bend", socket)]


def test_an_optional_input_needs_no_wire():
    part = replace(
        drawing({"i": (IN, {"socket": "rate", "optional": True}), "adam": "Adam", "l": (IN, {"socket": "loss"})},
                "i.y -> adam.rate", "l.y -> adam.loss"),
        name="Train",
    )  # fmt: skip
    graph = by_hand()
    nodes = {**graph.nodes, "adam": Node("adam", "subgraph", {"graph": "Train"})}
    graph = replace(graph, nodes=nodes, subgraphs={"Train": part})
    assert validate(graph) == []
    assert "adam/adam.lr" in lower(graph).live


def test_a_live_value_is_set_inside_and_through_the_instance():
    part = drawing(
        {"l": (IN, {"socket": "loss"}), "adam": "Adam", "p": (PARAM, {"name": "rate", "node": "adam", "param": "lr"})},
        "l.y -> adam.loss",
    )
    graph = by_hand()
    nodes = {**graph.nodes, "adam": Node("adam", "subgraph", {"graph": "Train", "rate": 0.5})}
    graph = replace(graph, nodes=nodes, subgraphs={"Train": replace(part, name="Train")})
    with Session.open(graph, "cpu") as session:
        assert session.live["adam/adam.lr"] == 0.5
        session.set("adam/adam", "lr", 0.25)
        assert session.live["adam/adam.lr"] == 0.25
        session.set("adam", "rate", 0.125)
        assert session.live["adam/adam.lr"] == 0.125
        for _ in session.train(2):
            pass
        assert session.loss is not None


def test_borders_are_checked():
    stray = drawing({"i": IN, "o": OUT})
    assert [(p.code, p.node) for p in validate(stray)] == [("not-in-subgraph", "i"), ("not-in-subgraph", "o")]
    bad = block()
    bad = replace(bad, nodes={**bad.nodes, "in 2": Node("in 2", IN, {"socket": "x"}), "out": Node("out", OUT, {"socket": "a b"})})
    graph = drawing({"data": "xor", "a": ("subgraph", {"graph": "Block"})}, "data.x -> a.x")
    codes = {(p.code, p.node) for p in validate(replace(graph, subgraphs={"Block": bad}))}
    assert {("duplicate-socket", "a/in 2"), ("bad-socket", "a/out")} <= codes


def test_bends_in_circles_and_without_a_start():
    graph = drawing({"a": "reroute", "b": "reroute", "r": "relu"}, "a.y -> b.x", "b.y -> a.x", "b.y -> r.x")
    assert [(p.code, p.found) for p in validate(graph) if p.code == "cycle"] == [("cycle", '"b" -> "a" -> "b" is a cycle')]
    loose = drawing({"a": "reroute", "r": "relu"}, "a.y -> r.x")
    assert [(p.code, p.node) for p in validate(loose)] == [("missing-input", "r")]
    through = drawing({"a": "reroute", "r": "relu"}, "a.y -> r.x", "r.y -> a.x")
    assert [(p.code, p.node) for p in validate(through)] == [("cycle", "r")]


def test_a_subgraph_in_itself_is_refused():
    part = replace(drawing({"s": ("subgraph", {"graph": "A"})}), name="A")
    graph = replace(drawing({"g": ("subgraph", {"graph": "A"})}), subgraphs={"A": part})
    assert [(p.code, p.node) for p in validate(graph)] == [("subgraph-recursion", "g/s")]
    with pytest.raises(ProjectError, match='"A" contains "A"'):
        lower(graph)


def test_a_small_file_that_stands_for_too_much_is_refused():
    parts = {
        f"s{i}": replace(drawing({x: ("subgraph", {"graph": f"s{i + 1}"}) for x in "abcd"}), name=f"s{i}") for i in range(20)
    }
    graph = replace(drawing({"g": ("subgraph", {"graph": "s0"})}), subgraphs={**parts, "s20": Graph(name="s20")})
    started = time.perf_counter()
    flat = flatten(graph)
    assert time.perf_counter() - started < 5
    assert {problem.code for problem in flat.problems} == {"too-many-nodes"}
    assert len(flat.order) <= MAX_NODES + 200
    chain = {f"s{i}": replace(drawing({"n": ("subgraph", {"graph": f"s{i + 1}"})}), name=f"s{i}") for i in range(3000)}
    deep = replace(drawing({"g": ("subgraph", {"graph": "s0"})}), subgraphs=chain)
    assert [problem.code for problem in flatten(deep).problems] == ["subgraph-depth"]


def test_paths_and_states_stay_unambiguous():
    graph = xor_of_blocks()
    clash = replace(graph, nodes={**graph.nodes, "a/act": Node("a/act", "relu")})
    assert "ambiguous-path" in {problem.code for problem in validate(clash)}
    parts = drawing(  # a node called like a part of another
        {"data": "text", "e": "Embedding", "b": ("TransformerBlock", {"heads": 1}), "b/linear 1": "Linear"},
        "data.x -> e.x",
        "e.y -> b.x",
        "b.y -> b/linear 1.x",
    )
    found = [(problem.code, problem.node) for problem in validate(parts)]
    assert found == [("ambiguous-state", "b/linear 1")]


def test_a_shared_seed_gives_each_instance_its_own_start():
    with Session.open(xor_of_blocks(), "cpu", seed=1) as session:
        states = session.states()
    assert not np.array_equal(states["a/linear/bias"][:1], states["b/linear/bias"])
