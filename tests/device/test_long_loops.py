"""Sums longer than a driver lets a loop run: they are shared out over lanes, or refused; never silently cut off."""

from __future__ import annotations

import numpy as np
import pytest
from property.graphs import run_once

from munet.engine.builder import Builder
from munet.engine.dtypes import F32, I32, DType
from munet.engine.errors import GraphError
from munet.engine.execute.base import Array
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.ir.module import Module, Source, Value
from munet.nodes.indexing import sum_rows
from munet.nodes.linear import matmul
from munet.nodes.reductions import sum_

LONG = 200_000  # llvmpipe ends loops after 65,535 turns


def source(b: Builder, name: str, shape: tuple[int, ...], dtype: DType = F32) -> Value:
    return b.source(Source(name, "data", Value(shape, dtype, name)))


def test_a_long_sum_and_a_long_product(executor: VulkanExecutor) -> None:
    b = Builder("long")
    with b.active():
        x, y = source(b, "x", (1, LONG)), source(b, "y", (LONG, 1))
        b.outputs.update(sum=sum_(x), product=matmul(x, y))
        module = b.finish()
    rng = np.random.default_rng(7)
    inputs: dict[str, Array] = {"x": rng.random((1, LONG), np.float32), "y": rng.random((LONG, 1), np.float32)}
    found = run_once(executor, module, inputs)
    np.testing.assert_allclose(found["sum"], inputs["x"].astype(np.float64).sum(), rtol=1e-5)
    np.testing.assert_allclose(found["product"], inputs["x"].astype(np.float64) @ inputs["y"].astype(np.float64), rtol=1e-5)


def long_search() -> Module:
    b = Builder("search")
    with b.active():
        b.outputs["y"] = sum_rows(source(b, "x", (LONG, 2)), source(b, "rows", (LONG,), I32), count=3)
        return b.finish()


def test_what_cannot_be_shared_out_is_refused_where_the_driver_would_cut_it_off(executor: VulkanExecutor) -> None:
    rng = np.random.default_rng(7)
    inputs: dict[str, Array] = {"x": rng.random((LONG, 2), np.float32), "rows": rng.integers(0, 3, LONG).astype(np.int32)}
    if executor.info.loop_limit:
        with pytest.raises(GraphError, match="stops after 65,535 turns"):
            run_once(executor, long_search(), inputs)
    else:
        found = run_once(executor, long_search(), inputs)
        expected = [inputs["x"][inputs["rows"] == row].sum(axis=0, dtype=np.float64) for row in range(3)]
        np.testing.assert_allclose(found["y"], expected, rtol=1e-4)
