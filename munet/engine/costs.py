"""What a drawing costs, node by node, before any device is there: parameters, arithmetic of a step, bytes of results."""

from __future__ import annotations

from dataclasses import dataclass

from munet.engine.codegen.form import form_of
from munet.engine.codegen.glsl import flops_of
from munet.engine.device import REFERENCE
from munet.engine.graph import Graph
from munet.engine.lower import lower
from munet.engine.operator import REGISTRY, Optimiser
from munet.engine.subgraphs import flatten
from munet.engine.transforms.remove_dead_ops import remove_dead_ops


@dataclass(frozen=True)
class NodeCost:
    """`flops` are of the forward ops of one batch, `training_flops` those of gradients and updates besides.

    `bytes` is the size of the node's results, `output` their shapes as text.
    """

    node: str
    operator: str
    output: str
    parameters: int
    flops: int
    training_flops: int
    bytes: int


@dataclass(frozen=True)
class Costs:
    """In the order of the drawing. `state_bytes`: all states of training; `data_bytes`: data sets on the device."""

    nodes: tuple[NodeCost, ...]
    state_bytes: int
    data_bytes: int

    @property
    def parameters(self) -> int:
        return sum(node.parameters for node in self.nodes)

    @property
    def flops(self) -> int:
        return sum(node.flops for node in self.nodes)

    @property
    def training_flops(self) -> int:
        return sum(node.training_flops for node in self.nodes)


def costs(graph: Graph) -> Costs:
    """Of one step of training, or of evaluation where nothing is trained. Raises ProjectError."""
    trains = any(isinstance(REGISTRY.get(node.operator), Optimiser) for node in flatten(graph).graph.nodes.values())
    lowered = lower(graph, "train" if trains else "evaluate")
    module = remove_dead_ops(lowered.module, REFERENCE)
    nodes = lowered.flat.nodes
    forward, training, owned = dict.fromkeys(nodes, 0), dict.fromkeys(nodes, 0), dict.fromkeys(nodes, 0)
    held = {s.result for s in module.states}
    optimisers = {name for name, node in nodes.items() if isinstance(REGISTRY.get(node.operator), Optimiser)}
    for op in module.ops:
        node = op.origin[0] if op.origin else ""
        if node in forward:
            later = "gradient" in op.origin[1:] or node in optimisers or any(value in held for value in op.outputs)
            (training if later else forward)[node] += flops_of(form_of(op))
    for state in module.states:
        owner = max((n for n in nodes if state.name.startswith(f"{n}/")), key=len, default="")
        if state.group == "parameter" and owner:
            owned[owner] += state.value.element_count
    found: list[NodeCost] = []
    for name, node in nodes.items():
        values = {socket: value for (n, socket), value in lowered.shapes.items() if n == name}
        shapes = ", ".join(f"[{', '.join(map(str, value.shape))}]" for value in values.values())
        size = sum(value.size_bytes for value in values.values())
        found.append(NodeCost(name, node.operator, shapes, owned[name], forward[name], training[name], size))
    sizes = {role: sum(s.value.size_bytes for s in module.sources if s.role == role) for role in ("state", "data")}
    return Costs(tuple(found), sizes["state"], sizes["data"])
