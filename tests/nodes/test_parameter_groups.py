"""Parameter groups: several optimisers on one loss, each with the parameters it names, as PyTorch's parameter groups."""

from __future__ import annotations

import numpy as np
import pytest

from munet.engine.errors import ProjectError
from munet.engine.graph import Edge, Graph, Node, Run
from munet.engine.lower import lower
from munet.engine.session import Session


def drawing(*optimisers: Node) -> Graph:
    nodes = [
        Node("points", "xor"),
        Node("one", "Linear", {"out_features": 4}),
        Node("bend", "tanh"),
        Node("two", "Linear", {"out_features": 1}),
        Node("loss", "mse_loss"),
        *optimisers,
    ]
    edges = [
        Edge("points", "x", "one", "x"),
        Edge("one", "y", "bend", "x"),
        Edge("bend", "y", "two", "x"),
        Edge("two", "y", "loss", "prediction"),
        Edge("points", "y", "loss", "target"),
        *(Edge("loss", "loss", optimiser.id, "loss") for optimiser in optimisers),
    ]
    return Graph("groups", {node.id: node for node in nodes}, tuple(edges), run=Run(seed=3))


def updated_by(graph: Graph) -> dict[str, str]:
    """Parameter -> the optimiser whose state it has."""
    states = {s.name for s in lower(graph).module.states}
    return {name.split("/", 1)[1].rsplit("/", 1)[0]: name.split("/")[0] for name in states if name.endswith("/m")}


def test_each_takes_what_it_names_and_the_rest_goes_to_the_one_that_names_nothing() -> None:
    found = updated_by(drawing(Node("biases", "Adam", {"parameters": "*/bias"}), Node("rest", "Adam")))
    assert found == {"one/weight": "rest", "two/weight": "rest", "one/bias": "biases", "two/bias": "biases"}


def test_groups_with_equal_settings_train_like_one_optimiser() -> None:
    parts = [Node("first", "Adam", {"parameters": "one/*"}), Node("second", "Adam", {"parameters": "two/*"})]
    with (
        Session.open(drawing(*parts), device="vulkan") as grouped,
        Session.open(drawing(Node("all", "Adam")), device="vulkan") as one,
    ):
        for _ in grouped.train(20):
            pass
        for _ in one.train(20):
            pass
        for name in ("one/weight", "one/bias", "two/weight", "two/bias"):
            np.testing.assert_array_equal(grouped.state(name), one.state(name), err_msg=name)


def test_a_rate_of_its_own() -> None:
    graph = drawing(Node("still", "SGD", {"parameters": "one/*", "lr": 0.0}), Node("rest", "SGD", {"lr": 0.5}))
    with Session.open(graph, device="cpu") as session:
        before = session.states()
        for _ in session.train(5):
            pass
        after = session.states()
    np.testing.assert_array_equal(after["one/weight"], before["one/weight"])
    assert (after["two/weight"] != before["two/weight"]).any()


@pytest.mark.parametrize(
    ("optimisers", "text"),
    [
        ([Node("a", "Adam", {"parameters": "three/*"})], 'no parameter is called .*"one/weight"'),
        ([Node("a", "Adam", {"parameters": "one/*"}), Node("b", "Adam", {"parameters": "*weight"})], "already updated by"),
    ],
    ids=["no match", "two claims"],
)
def test_what_is_refused(optimisers: list[Node], text: str) -> None:
    with pytest.raises(ProjectError, match=f"(?s){text}"):
        lower(drawing(*optimisers))
