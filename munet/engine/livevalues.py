"""Live values: parameters of nodes that may change while a program runs, by "node.param"."""

from __future__ import annotations

from collections.abc import Mapping

from munet.engine.errors import Problem, ProjectError, ShapeError
from munet.engine.graph import Graph, Node
from munet.engine.operator import REGISTRY
from munet.engine.subgraphs import promoted_targets


def change_live(live: dict[str, float], graph: Graph, nodes: Mapping[str, Node], place: tuple[str, str], value: float) -> None:
    """Set the parameter at `place`, (node, param), in the table `live`. Raises ProjectError, and has changed nothing then.

    `graph` is as drawn, `nodes` are those that run: what a subgraph gives out is changed at the nodes inside.
    """
    inside = [target for target in promoted_targets(graph, *place) if target != place]
    live |= {f"{node}.{param}": _checked(live, nodes, node, param, value) for node, param in inside or [place]}


def _checked(live: Mapping[str, float], nodes: Mapping[str, Node], node: str, param: str, value: float) -> float:
    known = nodes.get(node)
    if known is None:
        raise _refused("unknown-node", f'there is no node "{node}"', f"nodes: {', '.join(nodes)}", "", "")
    declared = REGISTRY[known.operator]
    if param not in declared.params:
        rule = f"its parameters: {', '.join(declared.params) or 'none'}"
        raise _refused("unknown-parameter", f"{declared.name} has no parameter {param!r}", rule, node, "")
    if f"{node}.{param}" not in live:
        found = f"{param} of {declared.name} cannot change while the project runs"
        raise _refused("not-live", found, "it decides how the project is compiled", node, param)
    try:
        return float(declared.params[param].check(param, value))
    except ShapeError as error:
        raise ProjectError([error.problem.at(node=node)]) from None


def _refused(code: str, found: str, rule: str, node: str, param: str) -> ProjectError:
    return ProjectError([Problem(code, found, rule=rule, node=node, socket=param)])
