"""Looking into a network: what it makes of some held-out samples, and which tensors a node has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from munet.engine.evaluation import held_out_count
from munet.engine.execute.base import Array
from munet.engine.ir.module import Module
from munet.engine.lower import Lowered
from munet.engine.prediction import Looker
from munet.engine.states import NOT_SAVED, owner_of

CHOICE = 5  # seeds which samples are taken when not all are
Columns = Mapping[str, Array]  # by "node.socket" of a source


@dataclass(frozen=True)
class TensorView:
    """A tensor of a node. `name` is what to ask for: "node.socket" for `look` and `tap`, a state's name for `state`."""

    name: str
    kind: Literal["input", "output", "parameter", "state"]
    socket: str  # of the node; "" for a state
    shape: tuple[int, ...]  # in training: the batch is that of the sources
    dtype: str


def held_out(lowered: Lowered, count: int | None = None) -> Columns:
    """Held-out samples of all sources: all of them, or `count` spread over them, always the same ones."""
    columns = {feeding.node: feeding.dataset.test or feeding.dataset.train for feeding in lowered.sources}
    total = min((held_out_count(feeding) for feeding in lowered.sources), default=0)
    rows: slice | Array = slice(0, total)
    if count is not None and count < total:
        rows = np.sort(np.random.default_rng(CHOICE).permutation(total)[: max(1, count)])
    return {f"{node}.{name}": array[rows] for node, arrays in columns.items() for name, array in arrays.items()}


def predictions(
    looker: Looker, lowered: Lowered, samples: Columns, nodes: Sequence[str] | None, live: Mapping[str, float], step: int
) -> dict[str, Array]:
    """Predictions for samples of all sources, in batches; results that have no samples are averaged over them."""
    count = min((len(array) for array in samples.values()), default=0)
    batch = min((feeding.batch for feeding in lowered.sources), default=1)
    sizes = [min(batch, count - first) for first in range(0, count, batch)]
    parts: list[dict[str, Array]] = []
    for first, size in zip(range(0, count, batch), sizes, strict=True):
        given = {name: array[first : first + size] for name, array in samples.items()}
        parts.append(looker.predict(given, nodes, live, step))
    if not parts:
        return looker.predict({}, nodes, live, step)
    return {name: _joined([part[name] for part in parts], sizes) for name in parts[0]}


def look(
    looker: Looker, lowered: Lowered, sockets: Sequence[str], samples: Columns, live: Mapping[str, float], step: int
) -> dict[str, Array]:
    """Values of sockets for these samples; those of sources are the samples themselves."""
    computed = [name for name in dict.fromkeys(sockets) if name not in samples]
    found = predictions(looker, lowered, samples, computed, live, step) if computed else {}
    return {name: samples[name] if name in samples else found[name] for name in sockets}


def tensors_of(lowered: Lowered, module: Module, node: str) -> tuple[TensorView, ...]:
    """What goes into a node and comes out of it, then its states; those of all nodes inside for a subgraph's instance."""
    found: list[TensorView] = []
    for edge in lowered.flat.edges:
        value = lowered.shapes.get((edge.source, edge.source_socket))
        if edge.target == node and value is not None:
            name = f"{edge.source}.{edge.source_socket}"
            found.append(TensorView(name, "input", edge.target_socket, value.shape, value.dtype.name))
    for (id_, socket), value in lowered.shapes.items():
        if id_ == node:
            found.append(TensorView(f"{id_}.{socket}", "output", socket, value.shape, value.dtype.name))
    for state in module.states:
        owner = owner_of(state.name, lowered.flat.nodes)
        if state.group not in ("control", NOT_SAVED) and (owner == node or owner.startswith(f"{node}/")):
            kind = "parameter" if state.group == "parameter" else "state"
            found.append(TensorView(state.name, kind, "", state.value.shape, state.value.dtype.name))
    return tuple(found)


def _joined(arrays: Sequence[Array], sizes: Sequence[int]) -> Array:
    if all(array.ndim and len(array) == size for array, size in zip(arrays, sizes, strict=True)):
        return np.concatenate(arrays)
    if any(array.shape != arrays[0].shape for array in arrays):
        return arrays[-1]
    return np.average(np.stack(arrays), axis=0, weights=sizes).astype(arrays[0].dtype)
