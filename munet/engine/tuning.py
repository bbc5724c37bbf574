"""Times shader variants for given sizes on a device and keeps what it found, so that programs of those sizes use the fastest.

Each eligible choice of constants runs alone with plain loads and stores, and so does the kernel that the compiler would write:
what a program fuses into them is left out of the comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from munet.engine.codegen.asset_choice import eligible_configurations, misfit
from munet.engine.codegen.shader_asset import Asset, Configuration, Variant
from munet.engine.codegen.verdicts import GENERATED, keep_times, known_of
from munet.engine.compile import compile_program
from munet.engine.errors import ShaderError
from munet.engine.execute.base import Executor
from munet.engine.ir.module import Module
from munet.engine.kernel_check import reference_of, time_program, time_variant

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Tuned:
    """One measured time, in µs. `variant` is GENERATED for the kernel that the compiler writes; `done` of `count` are there."""

    variant: str
    configuration: str
    dims: Sizes
    us: float
    done: int
    count: int


def tune(asset: Asset, shapes: list[Sizes], executor: Executor, *, plain: Callable[[Sizes], Module]) -> Iterator[Tuned]:
    """Time everything that may run on the device for each of the shapes; a shape's times are kept once all of them are there.

    `plain` builds the module that the asset stands in for. Raises ShaderError on a device that cannot be timed.
    """
    if not executor.info.timestamp_period_ns:
        raise ShaderError(f"{executor.info.name} has no timestamps, so variants cannot be timed on it")
    reference = reference_of(asset)
    work = [(dims, _candidates(asset, dims, executor)) for dims in shapes]
    count, done = sum(1 + len(candidates) for _, candidates in work), 0
    for dims, candidates in work:
        times: dict[str, dict[str, float]] = {variant.name: {} for variant, _ in candidates}
        program = compile_program(plain(dims), executor.info, off=("assets",))
        generated = time_program(program, executor)
        done += 1
        yield Tuned(GENERATED, "", dims, generated, done, count)
        for variant, configuration in candidates:
            us = time_variant(asset, variant, configuration, dims, executor, reference)
            assert us is not None  # the device has timestamps: see above
            times[variant.name][str(configuration)] = us
            done += 1
            yield Tuned(variant.name, str(configuration), dims, us, done, count)
        keep_times(asset, None, dims, executor.info, {"": generated})
        for name, found in times.items():
            keep_times(asset, asset.variant(name), dims, executor.info, found)


def _candidates(asset: Asset, dims: Sizes, executor: Executor) -> list[tuple[Variant, Configuration]]:
    """Choices of constants that may run: eligible there, and not known to be wrong."""
    known = known_of(asset, dims, executor.info)
    return [
        (variant, configuration)
        for variant in asset.variants
        if variant.when is None or variant.when.holds(dims)
        for configuration in eligible_configurations(variant, executor.info)
        if not misfit(variant, configuration, dims, executor.info) and not known.verified(variant, configuration)
    ]
