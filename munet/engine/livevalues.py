"""Live values: parameters of nodes that may change while a program runs, by "node.param"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from munet.engine.errors import Problem, ProjectError, ShapeError
from munet.engine.graph import Graph
from munet.engine.operator import REGISTRY
from munet.engine.subgraphs import flatten, promoted_targets

Number = float | np.floating[Any] | np.integer[Any]
DRIVES = {"lr": "rate"}  # parameters that an input socket takes the place of, where something is wired to it


@dataclass(frozen=True)
class LiveParameter:
    """A parameter that may be changed while the project runs. `node` is a path, of a subgraph's node "block 1/adam"."""

    node: str
    param: str
    value: float
    min: float | None = None
    max: float | None = None
    doc: str = ""
    whole: bool = False  # an integer

    @property
    def key(self) -> str:
        return f"{self.node}.{self.param}"


def live_parameters(graph: Graph) -> tuple[LiveParameter, ...]:
    """All that `Session.set` can change in a drawing, with the values as drawn; not those that a wire drives.

    Raises ProjectError when subgraphs are faulty; values that are no numbers are left out.
    """
    flat = flatten(graph).graph
    found: list[LiveParameter] = []
    for node in flat.nodes.values():
        declared = REGISTRY.get(node.operator)
        for name, param in declared.params.items() if declared is not None else ():
            value = node.params.get(name, param.default)
            if not param.live or node.muted or isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if any(edge.target_socket == DRIVES.get(name) for edge in flat.edges_into(node.id)):
                continue
            whole = isinstance(param.default, int)
            found.append(LiveParameter(node.id, name, float(value), param.min, param.max, param.doc, whole))
    return tuple(found)


def change_live(live: dict[str, float], graph: Graph, flat: Graph, place: tuple[str, str], value: Number) -> None:
    """Set the parameter at `place`, (node, param), in the table `live`. Raises ProjectError, and has changed nothing then.

    `graph` is as drawn, `flat` holds the nodes that run: what a subgraph gives out is changed at the nodes inside.
    """
    inside = [target for target in promoted_targets(graph, *place) if target != place]
    live |= {f"{node}.{param}": _checked(live, flat, node, param, value) for node, param in inside or [place]}


def _checked(live: Mapping[str, float], flat: Graph, node: str, param: str, value: Number) -> float:
    known = flat.nodes.get(node)
    if known is None:
        raise _refused("unknown-node", f'there is no node "{node}"', f"nodes: {', '.join(flat.nodes)}", "", "")
    declared = REGISTRY[known.operator]
    if param not in declared.params:
        rule = f"its parameters: {', '.join(declared.params) or 'none'}"
        raise _refused("unknown-parameter", f"{declared.name} has no parameter {param!r}", rule, node, "")
    if f"{node}.{param}" not in live:
        found = f"{param} of {declared.name} cannot change while the project runs"
        raise _refused("not-live", found, "it decides how the project is compiled", node, param)
    wire = next((edge for edge in flat.edges_into(node) if edge.target_socket == DRIVES.get(param)), None)
    if wire is not None:
        found = f'{param} is driven by a wire, from "{wire.source}"'
        rule = "a parameter that a wire drives has no value of its own"
        raise _refused("driven", found, rule, node, param, f'a parameter of "{wire.source}", or remove the wire')
    if isinstance(value, np.generic | np.ndarray) and value.size == 1:
        value = value.item()  # what metrics and states are made of
    try:
        number = float(declared.params[param].check(param, value))
    except ShapeError as error:
        raise ProjectError([error.problem.at(node=node)]) from None
    if abs(number) > float(np.finfo(np.float32).max):
        raise _refused("bad-parameter", f"{param} is {number:g}", "it is a number that f32 can hold", node, param)
    return number


def _refused(code: str, found: str, rule: str, node: str, param: str, cure: str = "") -> ProjectError:
    return ProjectError([Problem(code, found, rule=rule, cure=cure, node=node, socket=param)])
