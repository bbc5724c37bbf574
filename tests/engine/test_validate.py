"""The texts of all problems that a drawing can have, word for word: where, what was found, the rule, a cure."""

from __future__ import annotations

import time
from typing import Any

import pytest

import munet.nodes  # noqa: F401  # fills the registry
from munet.engine.errors import ProjectError, ShapeError
from munet.engine.graph import Edge, Graph, Node
from munet.engine.lower import lower
from munet.engine.operator import Choice
from munet.engine.project import load_project
from munet.engine.validate import remarks, validate
from tests.engine.drawings import PROJECTS, drawing

Nodes = dict[str, Any]
CASES: dict[str, tuple[Nodes, list[str], str]] = {}  # name -> nodes, wires, expected text


def case(name: str, nodes: Nodes, wires: list[str], expected: str) -> None:
    CASES[name] = (nodes, wires, expected.strip("\n"))


case(
    "no nodes",
    {},
    [],
    """
there are no nodes.
  Try: a source such as digits, a layer and a loss.
""",
)
case(
    "cycle",
    {"add 1": "add", "relu 3": "relu", "p": "xor"},
    ["add 1.z -> relu 3.x", "relu 3.y -> add 1.x", "p.x -> add 1.y"],
    """
node "add 1": "add 1" -> "relu 3" -> "add 1" is a cycle.
  Rule: wires lead forward: nothing may depend on its own result within a step.  Try: remove one of these wires.
""",
)
case(
    "a node that reads itself",
    {"a": "relu"},
    ["a.y -> a.x"],
    """
node "a": "a" -> "a" is a cycle.
  Rule: wires lead forward: nothing may depend on its own result within a step.  Try: remove one of these wires.
""",
)
case(
    "a long cycle",
    {f"r{i}": "relu" for i in range(30)},
    [f"r{i}.y -> r{(i + 1) % 30}.x" for i in range(30)],
    """
node "r0": "r0" -> "r1" -> "r2" -> "r3" -> "r4" -> "r5" -> "r6" -> "r7" -> ... 22 more -> "r0" is a cycle.
  Rule: wires lead forward: nothing may depend on its own result within a step.  Try: remove one of these wires.
""",
)
case(
    "unknown operators",
    {"a": "Lineer", "b": "LINEAR", "c": "frobnicate", "d": ("subgraph", {"graph": "x"})},
    [],
    """
node "a": there is no operator "Lineer".
  Try: "Linear".
node "b": there is no operator "LINEAR".
  Try: "Linear".
node "c": there is no operator "frobnicate".
  Try: `munet operators` for the list.
node "d": as its subgraph it names "x", which is not defined.
  Rule: the parameter "graph" of a subgraph node names a subgraph of the project.
""",
)
case(
    "unknown and unfit parameters of one node",
    {"p": "xor", "l": ("Linear", {"out_featurs": 3, "zzz": 1, "bias": 3})},
    ["p.x -> l.x"],
    """
node "l", out_featurs: Linear has no parameter "out_featurs".
  Rule: its parameters: out_features, bias.  Try: "out_features".
node "l", zzz: Linear has no parameter "zzz".
  Rule: its parameters: out_features, bias.  Try: remove it.
node "l", bias: bias is 3.
  Rule: bias is true or false.  Try: bias = true, its default.
""",
)
case(
    "unfit parameters",
    {
        "p": ("xor", {"batch": 0}),
        "l": ("Linear", {"out_features": "many"}),
        "c": ("Conv2d", {"kernel": [3, 3, 3], "stride": 0}),
        "o": ("Adam", {"lr": float("nan"), "beta1": 10**400}),
    },
    ["p.x -> l.x", "p.x -> c.x", "p.x -> o.loss"],
    """
node "p", batch: batch is 0.
  Rule: batch is at least 1.  Try: batch = 4, its default.
node "l", out_features: out_features is "many".
  Rule: out_features is a whole number.  Try: out_features = 64, its default.
node "c", kernel: kernel is [3, 3, 3].
  Rule: kernel is 2 whole numbers.  Try: kernel = [3, 3], its default.
node "c", stride: stride is [0, 0].
  Rule: stride is at least 1.  Try: stride = [1, 1], its default.
node "o", lr: lr is NaN.
  Rule: lr is a finite number.  Try: lr = 0.001, its default.
node "o", beta1: beta1 is 100000000000000000000000000000000000000000000000000000000...
  Rule: beta1 is a finite number.  Try: beta1 = 0.9, its default.
""",
)
case(
    "unknown sockets",
    {"p": "xor", "l": "relu", "m": "relu", "a": "Adam"},
    ["p.z -> l.x", "p.x -> m.input", "a.y -> m.x"],
    """
node "l", x: a wire comes from "p.z", but xor has no such output.
  Rule: its outputs: x, y.
node "m", x: a wire comes from "a.y", but Adam has no such output.
  Rule: Adam has no outputs.
node "m", input: relu has no input "input".
  Rule: its inputs: x.  Try: "x".
node "a", loss: nothing is wired to loss.
  Rule: Adam needs loss, the number to bring down.  Try: a wire to loss.
""",
)
case(
    "missing inputs",
    {"p": "xor", "loss": "mse_loss", "adam": "Adam"},
    ["p.x -> loss.target"],
    """
node "loss", prediction: nothing is wired to prediction.
  Rule: mse_loss needs prediction.  Try: a wire to prediction.
node "adam", loss: nothing is wired to loss.
  Rule: Adam needs loss, the number to bring down.  Try: a wire to loss.
""",
)
case(
    "two wires into one socket",
    {"p": "xor", "l": "relu"},
    ["p.x -> l.x", "p.y -> l.x"],
    """
node "l", x: 2 wires end here, from "p.x", "p.y".
  Rule: x takes one wire.  Try: remove all but one.
""",
)
case(
    "shapes of layers and losses",
    {"p": "xor", "q": "digits", "l": "Linear", "c": "Conv2d", "loss": "mse_loss", "mm": "matmul", "ce": "cross_entropy"},
    [
        "p.x -> l.x",
        "p.x -> c.x",
        "p.x -> mm.x",
        "p.x -> mm.y",
        "l.y -> loss.prediction",
        "q.label -> loss.target",
        "p.x -> ce.logits",
        "p.y -> ce.label",
    ],
    """
node "c", x: x has shape [4, 2], 2 dimensions.
  Rule: x of Conv2d is "n c h w", 4 dimensions.
node "loss", target: mse_loss.target has [100] where mse_loss.prediction has [4, 64].
  Rule: shapes broadcast when each dimension, counted from the last, is equal or 1.
node "mm", y: matmul.y: dimension 0 (k) is 4, but matmul.x set k = 2.
  Rule: y is "*batch k n".
node "ce", label: cross_entropy.label is f32.
  Rule: label is a whole number.  Try: a cast node before it.
""",
)
case(
    "a node behind a faulty one is not reported",
    {"p": "xor", "l": ("Linear", {"out_features": 0}), "r": "relu", "loss": "mse_loss"},
    ["p.x -> l.x", "l.y -> r.x", "r.y -> loss.prediction", "p.y -> loss.target"],
    """
node "l", out_features: out_features is 0.
  Rule: out_features is at least 1.  Try: out_features = 64, its default.
""",
)
case(
    "a node of a newer version",
    {"p": "xor", "r": ("relu", {}, {"version": 7})},
    ["p.x -> r.x"],
    """
node "r": saved with version 7 of relu, but this munet-studio has version 1.
  Rule: a node can be read by the version that saved it or a later one.  Try: update munet-studio.
""",
)
case(
    "muted nodes with nothing to hand on",
    {"p": ("xor", {}, {"muted": True}), "r": ("relu", {}, {"muted": True}), "s": "tanh"},
    ["r.y -> s.x"],
    """
node "p": it is muted, but has nothing to hand on.
  Rule: a muted node hands its first input on.  Try: unmute it.
node "r": it is muted, but has nothing to hand on.
  Rule: a muted node hands its first input on.  Try: unmute it.
""",
)
case(
    "two optimisers",
    {"p": "xor", "l": ("Linear", {"out_features": 1}), "loss": "mse_loss", "a": "Adam", "b": "SGD"},
    ["p.x -> l.x", "l.y -> loss.prediction", "p.y -> loss.target", "loss.loss -> a.loss", "loss.loss -> b.loss"],
    """
node "b": parameter "l/weight" is already updated by "a".
  Rule: each parameter has one optimiser.  Try: remove one of the optimisers.
""",
)
case(
    "nothing to train",
    {"p": "xor", "loss": "mse_loss", "a": "Adam"},
    ["p.x -> loss.prediction", "p.x -> loss.target", "loss.loss -> a.loss"],
    """
node "a", loss: there are no parameters.
  Rule: parameters lead to the loss by way of differentiable operators.  Try: a layer such as Linear before the loss.
""",
)
case(
    "a loss without a gradient",
    {"p": "spiral", "l": ("Linear", {"out_features": 3}), "acc": "accuracy", "a": "Adam"},
    ["p.x -> l.x", "l.y -> acc.logits", "p.label -> acc.label", "acc.accuracy -> a.loss"],
    """
node "a", loss: no parameter has a gradient here.
  Rule: parameters lead to the loss by way of differentiable operators.  Try: the output of a loss node that reads the network.
""",
)
case(
    "a loss that is not one number",
    {"p": "xor", "l": ("Linear", {"out_features": 3}), "a": "Adam"},
    ["p.x -> l.x", "l.y -> a.loss"],
    """
node "a": the loss has shape [4, 3] and dtype f32.
  Rule: a loss is a single float.  Try: a mean or sum before it.
""",
)
case(
    "schedules in wrong places",
    {"p": "xor", "c": "cosine", "l": "Linear", "a": "Adam", "b": "Adam", "r": "relu", "l2": "Linear"},
    ["c.rate -> l.x", "c.rate -> a.loss", "p.x -> b.rate", "c.rate -> r.x", "p.x -> l2.x", "l2.y -> b.loss"],
    """
node "l", x: x has shape [], 0 dimensions.
  Rule: x of Linear is "*batch in", at least 1 dimension.
node "a", loss: no parameter has a gradient here.
  Rule: parameters lead to the loss by way of differentiable operators.  Try: the output of a loss node that reads the network.
node "b", rate: rate has shape [4, 2], 2 dimensions.
  Rule: rate of Adam is a single number.
""",
)
case(
    "windows and groups",
    {
        "p": "digits",
        "n": "Normalise",
        "c": ("Conv2d", {"kernel": [40, 40]}),
        "m": ("max_pool2d", {"kernel": [30, 30]}),
        "g": ("Conv2d", {"groups": 3}),
    },
    ["p.image -> n.x", "n.y -> c.x", "n.y -> m.x", "n.y -> g.x"],
    """
node "c": a window of 40 does not fit into 28 pixels with padding 0.
  Rule: size + 2 padding is at least the window.  Try: a smaller kernel, more padding, or fewer pooling steps before.
node "m": a window of 30 does not fit into 28 pixels with padding 0.
  Rule: size + 2 padding is at least the window.  Try: a smaller kernel, more padding, or fewer pooling steps before.
node "g", groups: there are 16 output channels.
  Rule: they are a multiple of groups = 3.  Try: another number of groups.
""",
)
case(
    "shapes of operators",
    {
        "p": "xor",
        "rs": ("reshape", {"shape": [3, 3]}),
        "t": ("transpose", {"axes": [0, 0]}),
        "s": ("slice", {"axis": 5}),
        "sl": ("slice", {"axis": 1, "start": 1, "length": 4}),
        "ex": ("expand", {"shape": [4, 3]}),
        "cc": ("concat", {"axis": 0}),
        "add": "add",
        "sm": ("sum", {"axes": [3]}),
        "rb": ("reshape", {"shape": [-1, -1]}),
    },
    [
        "p.x -> rs.x",
        "p.x -> t.x",
        "p.x -> s.x",
        "p.x -> sl.x",
        "p.x -> ex.x",
        "p.x -> cc.x",
        "p.y -> cc.x",
        "p.x -> add.x",
        "cb.y -> add.y",
        "p.x -> sm.x",
        "p.x -> rb.x",
    ],
    """
node "rs", shape: cannot reshape [4, 2] (8 elements) to [3, 3].
  Rule: the number of elements stays the same.
node "t", axes: axes [0, 0] do not order 2 dimensions.
  Rule: axes names every dimension once.
node "s", axis: axis 5 does not exist.
  Rule: axes of a tensor of 2 dimensions are -2 to 1.
node "sl", start: slice 1 to 5 of a dimension of 2.
  Rule: start + length is within the dimension.
node "ex", shape: cannot expand [4, 2] to [4, 3].
  Rule: each size is kept or grows from 1.
node "cc", x: cannot concatenate [[4, 2], [4, 1]] along axis 0.
  Rule: all other dimensions are equal.
node "add", y: a wire comes from "cb", but there is no such node.
  Try: remove the wire.
node "sm", axes: axis 3 does not exist.
  Rule: axes of a tensor of 2 dimensions are -2 to 1.
node "rb", shape: cannot reshape to [-1, -1].
  Rule: at most one size is -1, none is below.
""",
)
case(
    "dtypes",
    {"p": "digits", "r": "relu", "a": "add", "w": "where"},
    ["p.image -> r.x", "p.image -> a.x", "p.label -> a.y", "p.label -> w.test", "p.label -> w.x", "p.label -> w.y"],
    """
node "r", x: relu.x is u8.
  Rule: x is a float.  Try: a cast node before it.
node "a", y: add.y has [100] where add.x has [100, 1, 28, 28].
  Rule: shapes broadcast when each dimension, counted from the last, is equal or 1.
node "w", test: where.test is u8, expected bool.
  Rule: test is bool.  Try: a comparison before it.
""",
)
case(
    "wires to nodes that are not there",
    {"p": "xor"},
    ["q.x -> p.x", "p.x -> q.x"],
    """
a wire from "p" leads to "q", but there is no such node.
  Try: remove the wire.
node "p", x: a wire comes from "q", but there is no such node.
  Try: remove the wire.
node "p", x: xor has no input "x".
  Rule: xor has no inputs.  Try: remove the wire.
""",
)


@pytest.mark.parametrize("name", CASES)
def test_texts(name: str):
    nodes, wires, expected = CASES[name]
    assert "\n".join(str(problem) for problem in validate(drawing(nodes, *wires))) == expected


@pytest.mark.parametrize("name", CASES)
def test_lowering_refuses_the_same(name: str):
    nodes, wires, _ = CASES[name]
    with pytest.raises(ProjectError) as raised:
        lower(drawing(nodes, *wires))
    found = {str(problem) for problem in raised.value.problems}
    assert found == {str(problem) for problem in validate(drawing(nodes, *wires))} or name == "no nodes"


def test_a_choice_names_what_there_is():
    with pytest.raises(ShapeError) as raised:
        Choice("mean", "sum").check("over", "meen")
    assert str(raised.value) == 'over: over is "meen".\n  Rule: over is one of mean, sum.  Try: over = "mean", its default.'


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.stem)
def test_the_projects_are_sound(project: Any):
    graph = load_project(project)
    assert validate(graph) == []
    assert remarks(graph) == []


SOUND = (
    {"p": "xor", "l": ("Linear", {"out_features": 1}), "loss": "mse_loss", "a": "Adam"},
    "p.x -> l.x",
    "l.y -> loss.prediction",
    "p.y -> loss.target",
    "loss.loss -> a.loss",
)


def test_a_graph_without_optimiser_is_sound_but_does_not_train():
    nodes, *wires = SOUND
    graph = drawing({name: what for name, what in nodes.items() if name != "a"}, *wires[:-1])
    assert validate(graph) == []
    lower(graph, "evaluate")
    text = "there is no optimiser, so nothing would be trained.\n  Try: a node such as Adam, wired to the loss."
    assert [str(remark) for remark in remarks(graph)] == [text]
    with pytest.raises(ProjectError) as raised:
        lower(graph, "train")
    assert str(raised.value) == text


def test_unused_nodes_are_remarks():
    nodes, *wires = SOUND
    graph = drawing({**nodes, "t": "tanh", "s": "sigmoid"}, *wires, "l.y -> t.x", "t.y -> s.x")
    assert validate(graph) == []
    unused = "its result is not used by any loss, metric or optimiser.\n  Try: a wire, or remove it."
    assert [str(remark) for remark in remarks(graph)] == [f'node "t": {unused}', f'node "s": {unused}']


def test_a_muted_node_is_passed_over():
    nodes, *wires = SOUND
    graph = drawing({**nodes, "t": ("tanh", {"nonsense": 1}, {"muted": True})}, *wires[1:], "p.x -> t.x", "t.y -> l.x")
    assert validate(graph) == []


def chain(length: int, last: str) -> Graph:
    """Pairs of Linear and tanh, one after the other; `last` is the operator of the last tanh."""
    nodes, edges = {"p": Node("p", "xor")}, list[Edge]()
    before, socket = "p", "x"
    for i in range(length // 2):
        nodes[f"l{i}"] = Node(f"l{i}", "Linear", {"out_features": 1})
        nodes[f"t{i}"] = Node(f"t{i}", last if i == length // 2 - 1 else "tanh")
        edges += [Edge(before, socket, f"l{i}", "x"), Edge(f"l{i}", "y", f"t{i}", "x")]
        before, socket = f"t{i}", "y"
    nodes |= {"loss": Node("loss", "mse_loss"), "a": Node("a", "Adam")}
    edges += [Edge(before, "y", "loss", "prediction"), Edge("p", "y", "loss", "target"), Edge("loss", "loss", "a", "loss")]
    return Graph(nodes=nodes, edges=tuple(edges))


@pytest.mark.parametrize("last", ["tanh", "tanhh"])
def test_a_thousand_nodes_take_less_than_five_seconds(last: str):
    start = time.perf_counter()
    problems = validate(chain(1000, last))
    assert time.perf_counter() - start < 5
    assert [problem.code for problem in problems] == ([] if last == "tanh" else ["unknown-operator"])


def test_sixty_doublings_are_no_work():
    """A walk that forgets where it has been would take 2^60 steps."""
    nodes: Nodes = {"p": "xor", **{f"add {i}": "add" for i in range(60)}}
    wires = [f"{f'add {i - 1}.z' if i else 'p.x'} -> add {i}.{socket}" for i in range(60) for socket in "xy"]
    start = time.perf_counter()
    assert validate(drawing(nodes, *wires)) == []
    assert time.perf_counter() - start < 1


def test_the_order_is_that_of_the_file():
    names = [f"n{i}" for i in (5, 3, 9, 1)]
    assert [problem.node for problem in validate(drawing(dict.fromkeys(names, "nonsense")))] == names
