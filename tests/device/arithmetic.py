"""What a device's own arithmetic does, measured: whether f32 subnormals survive and whether division rounds correctly.

Vulkan leaves both open. Tests widen nothing but what a probe has shown, so a device that is exact is judged exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from munet.engine.execute.base import Array
from munet.engine.execute.vulkan.executor import VulkanExecutor
from tests.device.harness import LOCAL_SIZE, run_kernel

SMALLEST = 2.0**-126  # of the normal f32


@dataclass(frozen=True)
class Arithmetic:
    keeps_subnormals: bool
    divides_exactly: bool

    def settled(self, got: Array, function: Callable[..., Array], *args: Array) -> tuple[Array, Array]:
        """A result and what to compare it with: `function` of the arguments.

        Where subnormals are flushed they count as zeros in the result, and in the arguments and the expectation as
        whichever of themselves and zero is closer to the result: bit tests and copies see them, arithmetic does not.
        """
        expected = function(*args)
        if self.keeps_subnormals:
            return got, expected
        got = flushed(got)
        for other in (flushed(expected), flushed(function(*map(flushed, args)))):
            expected = np.where(_distance(got, other) < _distance(got, expected), other, expected)
        return got, expected


def flushed(x: Array) -> Array:
    """Zeros, with their sign, for what is subnormal or rounds to the smallest normal number."""
    if x.dtype.kind != "f":
        return x
    limit = SMALLEST if x.dtype == np.float32 else SMALLEST * (1 + 1e-6)
    return np.where(np.abs(x) < limit, np.copysign(np.zeros_like(x), x), x)


def measure(executor: VulkanExecutor) -> Arithmetic:
    """Runs products and sums that are or meet subnormals, and quotients of numbers of ordinary size."""
    rng = np.random.default_rng(13)
    small = (rng.uniform(1, 2, 512) * 2.0 ** rng.integers(-149, -120, 512)).astype(np.float32)
    factor = (rng.uniform(1, 2, 512) * 2.0 ** rng.integers(-8, 8, 512)).astype(np.float32)
    products, sums = (
        _compute(executor, f"x[i] {sign} y[i]", small, other) for sign, other in (("*", factor), ("+", small[::-1]))
    )
    keeps = np.array_equal(products, small * factor) and np.array_equal(sums, small + small[::-1])
    a, b = (rng.uniform(1, 2, (2, 20000)) * 2.0 ** rng.integers(-20, 20, (2, 20000))).astype(np.float32)
    return Arithmetic(keeps, np.array_equal(_compute(executor, "x[i] / y[i]", a, b), a / b))


def _compute(executor: VulkanExecutor, expression: str, x: Array, y: Array) -> Array:
    glsl = f"""#version 450
layout(local_size_x = {LOCAL_SIZE}) in;
layout(binding = 0, std430) readonly buffer X {{ float x[]; }};
layout(binding = 1, std430) readonly buffer Y {{ float y[]; }};
layout(binding = 2, std430) writeonly buffer Z {{ float z[]; }};
layout(push_constant, std430) uniform Push {{ uint n; }};
void main() {{
    uint i = gl_GlobalInvocationID.x;
    if (i < n)
        z[i] = {expression};
}}
"""
    out = np.zeros(len(x), np.float32)
    run_kernel(executor, glsl, [x, np.ascontiguousarray(y)], [out], len(x))
    return out


def _distance(a: Array, b: Array) -> Array:
    """|a - b|, with equal infinities and two NaN at 0 and NaN far from numbers."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        away = np.nan_to_num(np.abs(a - b), nan=np.inf)
    return np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, away)
