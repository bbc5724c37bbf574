"""Large element-wise kernels on a GPU: an invocation computes several elements, the workgroup's width apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from munet.engine.builder import Builder
from munet.engine.codegen import parts
from munet.engine.compile import compile_program
from munet.engine.dtypes import F32
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.ir.module import Source, Value
from munet.nodes.arithmetic import exp, greater, where
from munet.nodes.shape_ops import pad
from tests.device.test_operators_vulkan import run


@pytest.mark.parametrize("count", [1, 127, 128, 129, 512, 513, 1000, 1023, 1024, 5001])
def test_several_elements_an_invocation(executor: VulkanExecutor, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Also where the last workgroup is not full, where loads are guarded, and in two parts of one pass."""
    monkeypatch.setattr(parts, "EACH_FROM", 1)
    b = Builder("map")
    with b.active():
        x = b.source(Source("x", "data", Value((count,), F32, "x")))
        y = exp(x) * 2.0
        b.outputs.update(y=y, more=where(greater(y, 1.0), y - x, 0.0), padded=pad(x, axis=0, before=3, after=2, value=-2.5) + 1.0)
        module = b.finish()
    program = compile_program(module, replace(executor.info, kind="discrete"), check=True)
    listed = [p for passes in program.pass_lists for p in passes]
    assert sum(p.kernel.glsl.count("int first = group * 512") for p in listed) == 2
    assert sum(p.grid[0] for p in listed) == -(-count // 512) + -(-(count + 5) // 512)
    x_ = np.random.default_rng(3).normal(size=count).astype(np.float32)
    found = run(executor, program, {"x": x_})
    wide = x_.astype(np.float64)
    np.testing.assert_allclose(found["y"], 2 * np.exp(wide), rtol=1e-6)
    np.testing.assert_allclose(found["more"], np.where(2 * np.exp(wide) > 1, 2 * np.exp(wide) - wide, 0.0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["padded"], np.pad(wide, (3, 2), constant_values=-2.5) + 1, rtol=1e-6, atol=1e-7)
