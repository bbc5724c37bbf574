"""Refuses, by name, what the device cannot hold or compute with yet; later turns dtypes into what it stores."""

from __future__ import annotations

from munet.engine.device import DeviceInfo
from munet.engine.errors import GraphError, Problem
from munet.engine.ir.module import Module


def legalise(module: Module, device: DeviceInfo) -> Module:
    """The module as it is, or GraphError naming the node whose dtype or size does not fit the device."""
    for op in module.ops:
        for value in op.outputs:
            if not value.dtype.register:
                raise GraphError(
                    Problem(
                        "dtype-unsupported",
                        f"{op.operator} gives {value.dtype}",
                        rule=f"{device.name} computes in f32, i32, u32, bool",
                        cure="a cast before it",
                        node=op.origin[0] if op.origin else "",
                    )
                )
            if value.element_count >= 2**31:
                raise GraphError(
                    Problem(
                        "too-large",
                        f"{op.operator} gives {value.element_count} elements",
                        rule="a tensor has fewer than 2^31 elements",
                        node=op.origin[0] if op.origin else "",
                    )
                )
    for source in module.sources:
        if not source.value.dtype.register:
            raise GraphError(
                Problem(
                    "dtype-unsupported",
                    f"{source.name} is {source.value.dtype}",
                    rule=f"{device.name} computes in f32, i32, u32, bool, and reads u8",
                    node=source.name.split("/")[0],
                )
            )
    return module
