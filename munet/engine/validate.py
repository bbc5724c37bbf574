"""Graph -> all its problems: what the studio marks on the drawing and `munet check` prints.

The graph is lowered as it would be for training, so what passes here compiles. A node that reads from a faulty one is not
reported again. `remarks` are no problems: the graph runs, but perhaps not as it was meant.
"""

from __future__ import annotations

from pathlib import Path

import networkx as nx

from munet.engine.errors import Problem
from munet.engine.graph import Graph, Run
from munet.engine.lower import NOTHING_TRAINS, Lowering
from munet.engine.operator import REGISTRY, Optimiser
from munet.engine.subgraphs import flatten


def validate(graph: Graph, folder: Path | None = None) -> list[Problem]:
    """Everything wrong with the graph, in the order of its nodes in the file; empty if it can be trained or evaluated.

    `folder` is the project file's: with it the weights that the run starts from are looked for too.
    """
    if not graph.nodes:
        return [Problem("empty-graph", "there are no nodes", cure="a source such as digits, a layer and a loss")]
    lowering = Lowering(graph, "train")
    lowering.run()
    position = {name: place for place, name in enumerate(lowering.flat.order)}
    settings = _run_problems(graph.run, None if lowering.problems else _metrics(lowering), folder)
    found = dict.fromkeys([*settings, *lowering.problems])
    return sorted(found, key=lambda problem: position.get(problem.node, -1))


def _metrics(lowering: Lowering) -> tuple[str, ...]:
    return tuple(name for name in lowering.builder.recorded if not name.startswith("_"))


def _run_problems(run: Run, recorded: tuple[str, ...] | None, folder: Path | None) -> list[Problem]:
    """Run settings that cannot be met; `recorded`: the names of the metrics, None where they are not known."""
    found: list[Problem] = []
    if run.patience and not run.evaluate_every:
        text = f"patience is {run.patience} evaluations, but evaluate_every is 0"
        found.append(Problem("run-settings", text, cure="evaluate_every, the steps between evaluations"))
    judged = run.patience or run.keep_best or run.judged_by != Run.judged_by
    if judged and recorded is not None and run.judged_by not in recorded:
        text, rule = f'the run is judged by "{run.judged_by}"', f"its metrics: {', '.join(recorded) or 'none'}"
        found.append(Problem("run-settings", text, rule=rule, cure="one of them as judged_by"))
    if folder is not None and run.initial_weights and not (folder / run.initial_weights).is_file():
        text = f'initial_weights names "{run.initial_weights}", but there is no such file'
        found.append(Problem("run-settings", text, rule=f"it is looked for from {folder}"))
    return found


def remarks(graph: Graph) -> list[Problem]:
    """What is not wrong but worth a word: nothing is trained; batches larger than the data; results that nobody uses."""
    lowered = Lowering(graph, "train").run()
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
    for feeding in lowered.sources if lowered else ():
        asked = graph.nodes[feeding.node].params.get("batch", 0)
        if asked > feeding.batch:
            text = f"batch is {asked}, but there are only {feeding.batch} samples; a step takes all of them"
            found.append(Problem("batch-too-large", text, cure=f"batch = {feeding.batch}", node=feeding.node, socket="batch"))
    for name in graph.nodes:
        if name not in used:
            found.append(
                Problem(
                    "unused", "its result is not used by any loss, metric or optimiser", cure="a wire, or remove it", node=name
                )
            )
    return found
