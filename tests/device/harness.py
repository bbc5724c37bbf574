"""Runs one kernel over host arrays on a Vulkan device: GLSL and inputs in, outputs as arrays out."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from munet.engine.execute.base import Array
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.ir.module import Module, Op
from munet.engine.passlist import Binding, ComputePass, Kernel, PassList, Placement
from munet.engine.program import BufferSpec, Program
from tests.device.validator import spirv_faults

LOCAL_SIZE = 64  # of every kernel that comes here


def run_kernel(executor: VulkanExecutor, glsl: str, inputs: Sequence[Array], outputs: Sequence[Array], count: int) -> None:
    """One invocation for each of `count` elements; fills `outputs` in place. Bindings: inputs in order, then outputs.

    The kernel's push block is one uint, `count`.
    """
    arrays = [*inputs, *outputs]
    specs = tuple(BufferSpec(f"array {k}", data.nbytes, "data") for k, data in enumerate(arrays))
    bindings = tuple(
        Binding(Placement(spec.name, 0, spec.size_bytes), "read" if k < len(inputs) else "write") for k, spec in enumerate(specs)
    )
    kernel = Kernel("test kernel", glsl, len(bindings), push_bytes=4)
    assert spirv_faults([kernel], executor.info) == []
    grid = (-(-count // LOCAL_SIZE), 1, 1)
    only_pass = ComputePass("test", (Op("test", (), ()),), kernel, bindings, grid, push=struct.pack("<I", count))
    program = Program("test", (PassList((only_pass,)),), specs, {}, Module("test", (), ()))
    executor.load(program)
    for spec, data in zip(specs, arrays, strict=True):
        executor.write(spec.name, data)
    executor.wait(executor.submit(program, first_step=0, steps=1, feeds={}))
    for spec, data in zip(specs[len(inputs) :], outputs, strict=True):
        data[...] = np.frombuffer(executor.read(spec.name), data.dtype).reshape(data.shape)
    executor.unload(program.name)
