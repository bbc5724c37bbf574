"""A drawing made in Python, and a loop of one's own: rate by hand, an early end, a layer added half-way.

python examples/own_training_loop.py [rounds]
"""

from __future__ import annotations

import sys
from dataclasses import replace

import munet
from munet import Edge, Graph, Node


def network() -> Graph:
    nodes = [
        Node("points", "spiral", {"batch": 60, "noise": 0.03}),
        Node("first", "Linear", {"out_features": 32}),
        Node("bend", "relu"),
        Node("last", "Linear", {"out_features": 3}),
        Node("loss", "cross_entropy"),
        Node("learn", "Adam", {"lr": 0.01}),
    ]
    wires = [
        Edge("points", "x", "first", "x"),
        Edge("first", "y", "bend", "x"),
        Edge("bend", "y", "last", "x"),
        Edge("last", "y", "loss", "logits"),
        Edge("points", "label", "loss", "label"),
        Edge("loss", "loss", "learn", "loss"),
    ]
    return Graph("spiral", {node.id: node for node in nodes}, tuple(wires))


def with_another_layer(graph: Graph) -> Graph:
    added = {"middle": Node("middle", "Linear", {"out_features": 32}), "bend again": Node("bend again", "relu")}
    wires = [edge for edge in graph.edges if edge.target != "last"]
    wires += [Edge("bend", "y", "middle", "x"), Edge("middle", "y", "bend again", "x"), Edge("bend again", "y", "last", "x")]
    return replace(graph, nodes={**graph.nodes, **added}, edges=tuple(wires))


def main(rounds: int = 20) -> None:
    graph = network()
    with munet.Session.open(graph) as session:
        best = float("inf")
        for turn in range(rounds):
            session.step(50)
            loss = session.evaluate()["loss"]
            active = session.tap("bend", "y", "summary")
            print(f"step {session.step_count}: held out {loss:.4f}; after the bend {active}")
            if loss > best:
                rate = session.live["learn.lr"] / 2
                session.set("learn", "lr", rate)  # nothing is compiled for this
                print(f"  the rate is {rate:.4g} now")
            best = min(best, loss)
            if turn == rounds // 2:
                print(" ", session.replace(with_another_layer(graph)))  # what was learned stays, on the device
            if loss < 0.05:
                break


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
