"""Transforms: Module -> Module for a device. This tuple is the only place where their order is written."""

from __future__ import annotations

from collections.abc import Callable, Collection

from munet.engine.device import DeviceInfo
from munet.engine.ir.module import Module
from munet.engine.transforms.canonicalise import canonicalise
from munet.engine.transforms.fuse import fuse
from munet.engine.transforms.legalise import legalise
from munet.engine.transforms.merge_equal_ops import merge_equal_ops
from munet.engine.transforms.pack_updates import pack_updates
from munet.engine.transforms.remove_dead_ops import remove_dead_ops
from munet.engine.transforms.split_sums import split_sums

Transform = Callable[[Module, DeviceInfo], Module]

TRANSFORMS: tuple[Transform, ...] = (canonicalise, merge_equal_ops, remove_dead_ops, legalise, split_sums, fuse, pack_updates)
REQUIRED = frozenset({"legalise"})  # all others can be switched off and only cost speed


def chosen(off: Collection[str] = ()) -> tuple[Transform, ...]:
    """The transforms without those named in `off`. Raises ValueError for an unknown or a required one."""
    names = {transform.__name__ for transform in TRANSFORMS}
    for name in off:
        if name not in names or name in REQUIRED:
            raise ValueError(f"cannot switch off {name!r}; can: {', '.join(sorted(names - REQUIRED))}")
    return tuple(transform for transform in TRANSFORMS if transform.__name__ not in off)
