"""How states start: rules by name, drawn on the host from (seed, name), so that one state's start never depends on another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from munet.engine.ir.module import Source
from munet.engine.operator import Array
from munet.engine.philox import stream_key

Draw = Callable[[np.random.Generator, tuple[int, ...], tuple[float, ...]], Array]

RULES: dict[str, Draw] = {
    "zeros": lambda rng, shape, args: np.zeros(shape),
    "ones": lambda rng, shape, args: np.ones(shape),
    "constant": lambda rng, shape, args: np.full(shape, args[0]),
    "uniform": lambda rng, shape, args: rng.uniform(args[0], args[1], shape),
    "normal": lambda rng, shape, args: rng.normal(args[0], args[1], shape),
}

# "stream_key" besides: the key pair of a random stream, u32 [2]


def draw(state: Source, seed: int) -> Array:
    """The state's initial value as a host array of its dtype."""
    assert state.initial is not None
    path = tuple(state.name.split("/"))
    if state.initial.kind == "stream_key":  # of the stream that belongs to the node, not to the state
        return np.array(stream_key(seed, path[:-1]), np.uint32)
    rng = np.random.Generator(np.random.PCG64(stream_key(seed, path)))
    return RULES[state.initial.kind](rng, state.value.shape, state.initial.args).astype(state.value.dtype.host)
