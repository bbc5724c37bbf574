"""Live values as the drawing has them: what can be changed while it trains, and the undoable change, wherever the node lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from munet import Graph
from munet.inspect import LiveParameter
from studio.commands import SetParam
from studio.document import State, locate
from studio.edits import EditRefused
from studio.grouping import given_out
from studio.texts import text

Place = tuple[tuple[str, ...], str, str]  # instances around the node, its id, the parameter


def place_of(graph: Graph, path: str, param: str) -> Place | None:
    """Where a value is said: at the instance of a subgraph that gives the parameter out, else at the node itself."""
    found = locate(graph, path)
    if found is None:
        return None
    inside, node = found
    while inside:
        given = given_out(State(graph, inside).part, node)
        if param not in given:
            break
        inside, node, param = inside[:-1], inside[-1], given[param]
    return inside, node, param


@dataclass(frozen=True)
class SetLive:
    """A live value of the node at a path, whichever drawing is shown. A drag gives `merge`."""

    path: str
    name: str
    value: float
    merge: str = ""

    @property
    def label(self) -> str:
        return text("set_param", name=self.name, node=self.path)

    def apply(self, state: State) -> State:
        place = place_of(state.graph, self.path, self.name)
        if place is None:
            raise EditRefused(f'there is no node "{self.path}" any more')
        inside, node, param = place
        changed = SetParam((node,), param, self.value).apply(replace(state, inside=inside))
        return replace(state, graph=changed.graph)


def in_range(param: LiveParameter, value: float) -> float:
    """The value as the parameter takes it. Fields count in f32: six digits are what a person meant."""
    value = float(f"{value:.6g}")
    if param.min is not None:
        value = max(value, param.min)
    if param.max is not None:
        value = min(value, param.max)
    return round(value) if param.whole else value


def order(params: Sequence[LiveParameter]) -> list[LiveParameter]:
    """Learning rates first: they are what is changed most."""
    return sorted(params, key=lambda param: param.param not in ("lr", "rate"))
