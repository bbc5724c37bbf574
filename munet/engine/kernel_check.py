"""Verifies shader variants on a device: every eligible variant x choice of constants x shape of the contract, against NumPy.

Inputs are seeded and never constant. Every buffer lies between guard zones, which must be untouched afterwards; inputs too.
A variant runs with its plain include, so that nothing but the variant itself is judged.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from munet.engine.codegen.asset_check import check_variant
from munet.engine.codegen.asset_choice import eligible_configurations, misfit
from munet.engine.codegen.shader_asset import Asset, Configuration, Tolerance, Variant
from munet.engine.codegen.verdicts import Judged, keep_judged
from munet.engine.errors import ShaderError
from munet.engine.execute.base import Executor
from munet.engine.ir.module import Module, Op
from munet.engine.passlist import Binding, ComputePass, Kernel, PassList, Placement
from munet.engine.program import BufferSpec, Program

Array = np.ndarray[Any, Any]
GUARD_WORDS = 1024  # on each side of a buffer: a stray write by a whole tile's row lands in it
TIMED_RUNS = 5
GUARD = np.uint32(0x7FC0DEAD)  # a NaN that no arithmetic gives: reading a guard shows in the result as well


@dataclass(frozen=True)
class Reference:
    """What an asset means: shapes of its buffers for given dimensions, and the result in double precision."""

    shapes: Callable[[Mapping[str, int]], Mapping[str, tuple[int, ...]]]
    result: Callable[[Mapping[str, Array]], Mapping[str, Array]]


def _contraction_shapes(d: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    return {"a": (d["BATCH"], d["M"], d["K"]), "b": (d["BATCH"], d["K"], d["N"]), "c": (d["BATCH"], d["M"], d["N"])}


REFERENCES: dict[str, Reference] = {
    "contraction": Reference(_contraction_shapes, lambda arrays: {"c": arrays["a"] @ arrays["b"]}),
}


@dataclass(frozen=True)
class Verdict:
    """What came of one variant, choice of constants and shape. `problem` is "" if it is fine."""

    asset: str
    variant: str
    configuration: Configuration
    dims: Mapping[str, int]
    error: float  # largest difference over what is allowed: at most 1 is fine
    problem: str = ""

    @property
    def fine(self) -> bool:
        return not self.problem


def verify(
    asset: Asset, executor: Executor, *, only: str = "", seed: int = 0, reference: Reference | None = None
) -> Iterator[Verdict]:
    """One verdict after the other, of all variants or of `only` that one; what is not eligible on the device is left out.

    What came of a choice of constants is kept with its time (`verdicts.py`), so that programs use nothing that was wrong.
    Raises ShaderError or DeclarationError when a variant does not compile or does not fit its contract.
    """
    reference = reference or reference_of(asset)
    if executor.info.kind == "reference":
        raise ShaderError("the NumPy reference runs no shaders; verify them on a Vulkan device")
    for variant in [asset.variant(only)] if only else asset.variants:
        check_variant(asset.name, asset.contract, variant, api_version=executor.info.api_version)
        for configuration in eligible_configurations(variant, executor.info):
            found: list[Verdict] = []
            fitting = [dims for dims in asset.contract.shapes if not misfit(variant, configuration, dims, executor.info)]
            if not fitting:
                continue
            for dims in fitting:
                found.append(_verify_one(asset, variant, configuration, dims, reference, executor, seed))
                yield found[-1]
            error, problem = max(v.error for v in found), next((v.problem for v in found if not v.fine), "")
            largest = max(fitting, key=lambda dims: math.prod(dims.values()))
            us = time_variant(asset, variant, configuration, largest, executor, reference)
            keep_judged(asset, variant, configuration, executor.info, Judged(len(found), error, problem, us))


def reference_of(asset: Asset) -> Reference:
    """Raises ShaderError for an asset that has none."""
    reference = REFERENCES.get(asset.name)
    if reference is None:
        raise ShaderError(f"asset {asset.name} has no reference to be verified against")
    return reference


def time_variant(
    asset: Asset, variant: Variant, configuration: Configuration, dims: Mapping[str, int], executor: Executor,
    reference: Reference,
) -> float | None:  # fmt: skip
    """Device time of one run in µs; what the buffers hold makes no difference. None where the device has no timestamps."""
    if not executor.info.timestamp_period_ns:
        return None
    return time_program(_program(asset, variant, configuration, dims, reference.shapes(dims)), executor)


def time_program(program: Program, executor: Executor) -> float:
    """The median device time of a few runs of a program of one pass list, in µs. It is unloaded afterwards."""
    executor.load(program)
    try:
        runs = [sum(p.us for p in executor.profile(program, first_step=0, feeds={})[1]) for _ in range(TIMED_RUNS + 1)]
    finally:
        executor.unload(program.name)
    return statistics.median(runs[1:])  # the first also warms up caches and clocks


def _verify_one(
    asset: Asset,
    variant: Variant,
    configuration: Configuration,
    dims: Mapping[str, int],
    reference: Reference,
    executor: Executor,
    seed: int,
) -> Verdict:
    shapes = reference.shapes(dims)
    rng = np.random.default_rng([seed, *dims.values()])
    inputs = {name: rng.normal(size=shapes[name]).astype(np.float32) for name in shapes if asset.contract.buffers[name] == "read"}
    expected = reference.result({name: array.astype(np.float64) for name, array in inputs.items()})
    found = _run(asset, _program(asset, variant, configuration, dims, shapes), shapes, inputs, executor)
    error, problems = 0.0, []
    for name, words in found.items():
        inner = words[GUARD_WORDS : words.size - GUARD_WORDS]
        outside = np.concatenate([words[:GUARD_WORDS], words[words.size - GUARD_WORDS :]]) != GUARD
        if np.any(outside):
            problems.append(f"wrote outside of {name}, {_nearest(outside)}")
        if name in inputs and not np.array_equal(inner, inputs[name].ravel().view(np.uint32)):
            problems.append(f"changed its input {name}")
        if name in expected:
            tolerance = variant.tolerance.get("f32", Tolerance())
            ratio, text = _compare(inner.view(np.float32).reshape(shapes[name]), expected[name], tolerance, dims)
            error = max(error, ratio)
            problems += [text] if text else []
    constants = f" ({configuration})" if configuration.constants else ""
    what = f"{asset.name}/{variant.name}.comp{constants}, f32 {list(dims.values())}"
    again = f"Repeat: munet shaders verify {asset.name} --seed {seed}"
    problem = f"{what}: {'; '.join(problems)}. {again}" if problems else ""
    return Verdict(asset.name, variant.name, configuration, dims, error, problem)


def _run(
    asset: Asset, program: Program, shapes: Mapping[str, tuple[int, ...]], inputs: Mapping[str, Array], executor: Executor
) -> dict[str, Array]:
    """The words of each buffer with its guard zones after one run; results start as NaN."""
    executor.load(program)
    for name, shape in shapes.items():
        array = inputs[name] if name in inputs else np.full(shape, np.nan, np.float32)
        zone = np.full(GUARD_WORDS, GUARD)
        executor.write(_buffer(asset, name), np.concatenate([zone, array.ravel().view(np.uint32), zone]))
    executor.wait(executor.submit(program, first_step=0, steps=1, feeds={}))
    return {name: np.frombuffer(executor.read(_buffer(asset, name)), np.uint32) for name in shapes}


def _program(
    asset: Asset,
    variant: Variant,
    configuration: Configuration,
    dims: Mapping[str, int],
    shapes: Mapping[str, tuple[int, ...]],
) -> Program:
    """One pass; each buffer bound between its guard zones."""
    access = asset.contract.buffers
    places = {name: Placement(_buffer(asset, name), 4 * GUARD_WORDS, 4 * math.prod(shape)) for name, shape in shapes.items()}
    bindings = tuple(Binding(places[name], access[name]) for name in access)
    push = b"".join(size.to_bytes(4, "little") for size in dims.values())
    kernel = Kernel(
        f"{asset.name}/{variant.name}",
        variant.source,
        len(bindings),
        len(push),
        variant.specialization(configuration),
        variant.name,
        "verified",
    )
    only = ComputePass(variant.name, (Op("verify", (), ()),), kernel, bindings, variant.grid_of(dims, configuration), push=push)
    sizes = {name: 4 * (math.prod(shape) + 2 * GUARD_WORDS) for name, shape in shapes.items()}
    buffers = tuple(BufferSpec(_buffer(asset, name), size, "temporary") for name, size in sizes.items())
    title = f"verify {asset.name}"
    return Program(title, (PassList((only,)),), buffers, {}, Module(title, (), ()))


def _buffer(asset: Asset, name: str) -> str:
    return f"verify {asset.name}/{name}"


def _compare(found: Array, expected: Array, tolerance: Tolerance, dims: Mapping[str, int]) -> tuple[float, str]:
    """Largest difference over what is allowed, and what to say if that is above 1."""
    if not found.size:
        return 0.0, ""
    difference = np.abs(found.astype(np.float64) - expected)
    allowed = (tolerance.atol + tolerance.rtol * np.abs(expected)) * tolerance.factor(dims)
    ratio = np.where(np.isnan(difference), np.inf, difference / np.maximum(allowed, np.finfo(np.float64).tiny))
    at = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    worst = float(ratio[at])
    if worst <= 1:
        return worst, ""
    place = [int(i) for i in at]
    return worst, f"largest difference {difference[at]:.2g} at {place}, allowed {allowed[at]:.2g}"


def _nearest(touched: Array) -> str:
    """Where the guard zones were first touched."""
    at = int(np.argmax(touched))
    return f"{GUARD_WORDS - at} words before it" if at < GUARD_WORDS else f"{at - GUARD_WORDS} words behind it"
