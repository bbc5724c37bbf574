"""Graph -> all its problems: what the studio marks on the drawing and `munet check` prints.

The graph is lowered as it would be for training, so what passes here compiles. A node that reads from a faulty one is not
reported again. `remarks` are no problems: the graph runs, but perhaps not as it was meant.
"""

from __future__ import annotations

import networkx as nx

from munet.engine.errors import Problem
from munet.engine.graph import Graph
from munet.engine.lower import NOTHING_TRAINS, Lowering
from munet.engine.operator import REGISTRY, Optimiser
from munet.engine.subgraphs import flatten


def validate(graph: Graph) -> list[Problem]:
    """Everything wrong with the graph, in the order of its nodes in the file; empty if it can be trained or evaluated."""
    if not graph.nodes:
        return [Problem("empty-graph", "there are no nodes", cure="a source such as digits, a layer and a loss")]
    lowering = Lowering(graph, "train")
    lowering.run()
    position = {name: place for place, name in enumerate(lowering.flat.order)}
    found = dict.fromkeys(lowering.problems)
    return sorted(found, key=lambda problem: position.get(problem.node, -1))


def remarks(graph: Graph) -> list[Problem]:
    """What is not wrong but worth a word: nothing is trained; nodes whose results nobody uses."""
    graph = flatten(graph).graph
    used = set[str]()
    drawing = nx.DiGraph()
    drawing.add_edges_from((edge.source, edge.target) for edge in graph.edges)
    trains = False
    for node in graph.nodes.values():
        declared = REGISTRY.get(node.operator)
        if declared is None or isinstance(declared, Optimiser) or declared.role:
            used |= {node.id} | (nx.ancestors(drawing, node.id) if node.id in drawing else set[str]())
        trains = trains or (isinstance(declared, Optimiser) and not node.muted)
    found = [] if trains else [NOTHING_TRAINS]
    for name in graph.nodes:
        if name not in used:
            found.append(
                Problem(
                    "unused", "its result is not used by any loss, metric or optimiser", cure="a wire, or remove it", node=name
                )
            )
    return found
