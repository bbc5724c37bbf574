"""Whatever is drawn: fused equals unfused, planned equals unplanned, Vulkan equals the reference equals op-by-op evaluation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from property.graphs import inputs_of, random_module, run_once

from munet.engine.execute.base import Array
from munet.engine.execute.cpu import ReferenceExecutor
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.ir.evaluate import evaluate
from munet.engine.ir.module import Module

TOLERANCE = 1e-4
EVERYTHING = ("canonicalise", "merge_equal_ops", "split_sums", "fuse", "pack_updates", "alias", "join")


@dataclass(frozen=True)
class Judge:
    """A module's results op by op in double precision, and how far single precision strays from them by itself: some random
    graphs lose digits whatever computes them."""

    exact: dict[str, Array]
    stray: dict[str, float]

    def assert_close(self, found: dict[str, Array]) -> None:
        for name, array in found.items():
            scale = max(1.0, float(np.abs(self.exact[name]).max(initial=0.0)))
            allowed = TOLERANCE * scale + 4 * self.stray[name]
            np.testing.assert_allclose(array, self.exact[name], rtol=0, atol=allowed, err_msg=name)


def judge(module: Module, inputs: dict[str, Array]) -> Judge:
    outputs, states = evaluate(module, {name: array.astype(np.float64) for name, array in inputs.items()})
    exact = {**outputs, **states}
    outputs, states = evaluate(module, inputs)
    return Judge(
        exact, {name: float(np.abs(array - exact[name]).max(initial=0.0)) for name, array in {**outputs, **states}.items()}
    )


@settings(max_examples=120, deadline=None)
@example(seed=10, size=2)  # an update that is wider than what it reads
@example(seed=14651, size=2)  # an output that is a parameter as it was before the step
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 14))
def test_every_transform_keeps_the_meaning(seed: int, size: int) -> None:
    module = random_module(seed, size)
    inputs = inputs_of(module, seed)
    expected = judge(module, inputs)
    for off in ((), ("fuse",), ("alias", "join"), EVERYTHING):
        with ReferenceExecutor() as executor:
            expected.assert_close(run_once(executor, module, inputs, off=off, poison=True))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 12))
def test_vulkan_equals_the_judge(seed: int, size: int) -> None:
    module = random_module(seed, size)
    inputs = inputs_of(module, seed)
    expected = judge(module, inputs)
    with VulkanExecutor() as executor:
        expected.assert_close(run_once(executor, module, inputs, poison=True))


@pytest.mark.parametrize("seed", range(4))
def test_vulkan_without_transforms_equals_the_judge(seed: int) -> None:
    module = random_module(seed, 8)
    inputs = inputs_of(module, seed)
    with VulkanExecutor() as executor:
        judge(module, inputs).assert_close(run_once(executor, module, inputs, off=EVERYTHING))
