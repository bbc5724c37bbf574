"""Bytes that are computed on the device, not only read there, come back as they should."""

from __future__ import annotations

import numpy as np
import pytest
from property.graphs import run_once

from munet.engine.builder import Builder
from munet.engine.compile import compile_program
from munet.engine.device import DeviceInfo
from munet.engine.dtypes import U8
from munet.engine.errors import GraphError
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.ir.module import Module, Source, Value
from munet.nodes.arithmetic import maximum
from munet.nodes.shape_ops import transpose


def turned() -> Module:
    b = Builder("bytes")
    with b.active():
        x = b.source(Source("x", "data", Value((5, 7), U8, "x")))
        b.outputs.update(turned=transpose(x), largest=maximum(x, transpose(transpose(x))))
        return b.finish()


def test_a_transposed_picture(executor: VulkanExecutor) -> None:
    x = np.random.default_rng(7).integers(0, 256, (5, 7)).astype(np.uint8)
    found = run_once(executor, turned(), {"x": x})
    np.testing.assert_array_equal(found["turned"], x.T)
    np.testing.assert_array_equal(found["largest"], x)


def test_a_device_without_8_bit_storage_says_so() -> None:
    with pytest.raises(GraphError, match="no 8-bit storage"):
        compile_program(turned(), DeviceInfo(max_storage_buffers=32))
