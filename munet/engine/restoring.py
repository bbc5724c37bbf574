"""States from a file for a program: what fits, what starts anew, what the program has no place for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from munet.engine.checkpoint import Header, check_states, fitting, read_arrays, read_checkpoint
from munet.engine.errors import CheckpointError
from munet.engine.execute.base import Array
from munet.engine.files import PathLike
from munet.engine.initial import draw
from munet.engine.ir.module import Source
from munet.engine.program import Program
from munet.engine.renaming import Renaming
from munet.engine.states import is_weight, saved_states

STEP = "train/step"  # the step counter of every training program


@dataclass(frozen=True, eq=False)
class Restored:
    """`states` are to be written; the names say where they come from."""

    states: Mapping[str, Array]
    kept: tuple[str, ...]
    started: tuple[str, ...]
    dropped: tuple[str, ...]
    header: Header


def restored(program: Program, path: PathLike, *, partial: bool, renames: Renaming, nodes: Collection[str]) -> Restored:
    """All states from a checkpoint. `partial`: those that do not fit are drawn anew, if at least one weight does.

    `renames`: nodes that have got other paths since it was written; `nodes`: the paths of now.

    Raises CheckpointError.
    """
    arrays, header = read_checkpoint(path)
    saved = saved_states(program)
    expected = _expected(saved)
    origins = renames.states_before(saved, nodes)
    known = {new: arrays[old] for new, old in origins.items() if old in arrays}
    kept = fitting(expected, known)
    if not partial or not any(is_weight(s) for s in saved if s.name in kept):
        left = arrays.keys() - set(origins.values())
        check_states(
            str(path), expected, known | {name: arrays[name] for name in arrays if name in left and name not in expected}
        )
    counter = arrays.get(STEP)
    if counter is not None and int(counter) != header.step:
        raise CheckpointError(f"{path}: its header says step {header.step}, its counter says {int(counter)}")
    started = {s.name: draw(s, header.seed) for s in saved if s.name not in kept}
    taken = {origins[name] for name in kept}
    dropped = tuple(name for name in arrays if name not in taken)
    return Restored(kept | started, tuple(kept), tuple(started), dropped, header)


def restored_weights(program: Program, path: PathLike, *, partial: bool) -> Restored:
    """Parameters and running statistics from a checkpoint or any safetensors file; `started` stay as they are.

    Raises CheckpointError when nothing fits, or not all if not `partial`.
    """
    arrays = read_arrays(path)
    weights = _expected([s for s in saved_states(program) if is_weight(s)])
    kept = fitting(weights, arrays)
    if not kept or (len(kept) < len(weights) and not partial):
        check_states(str(path), weights, {name: array for name, array in arrays.items() if name in weights})
    started, dropped = (tuple(name for name in names if name not in kept) for names in (weights, arrays))
    return Restored(kept, tuple(kept), started, dropped, Header(seed=0, step=0))


def _expected(states: list[Source]) -> dict[str, Array]:
    """Arrays of the right shapes and dtypes that take no memory."""
    return {s.name: np.broadcast_to(np.zeros((), s.value.dtype.host), s.value.shape) for s in states}
