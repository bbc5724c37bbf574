"""Chooses the variant of a shader asset, and its constants, for given dimensions on a device; and says why.

A variant is eligible where `requires` is met, `when` holds, its grid is within the device's limits, and it has not failed its
verification. Of those one that a person wants used is taken, else the one with the least measured time, else that of the
highest rank, ties by name. Of its configurations, which are choices of its specialization constants, likewise the fastest,
else the one that `work` and `speed` say is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from munet.engine.codegen.shader_asset import BASELINE, GENERIC, Asset, Configuration, Variant
from munet.engine.device import DeviceInfo
from munet.engine.errors import ShaderError

# No portable query gives the number of cores; a choice between tile sizes only needs its order of magnitude.
CORES = {"discrete": 128, "virtual": 128, "integrated": 16, "cpu": 4, "reference": 1, "other": 16}
BUSY_CORE = 192  # invocations of a core, each with many independent sums, that hide each other's waiting; fewer are slower


@dataclass(frozen=True, eq=False)
class Choice:
    """A variant with its constants for given dimensions; `time` is the measured one, in the unit of `Times`."""

    variant: Variant
    configuration: Configuration
    grid: tuple[int, int, int]
    reason: str
    time: float | None = None


Verdict = Callable[[Variant, Configuration], str]  # why it may not be used on this device and driver; "" if it may
Times = Callable[[Variant, Configuration], float | None]  # its measured time for these dimensions, in any unit


@dataclass(frozen=True, eq=False)
class Known:
    """What is known beyond the asset itself: configurations that failed on this device, measured times, and the names of
    variants that a person wants used wherever they can run."""

    verified: Verdict = lambda variant, configuration: ""
    times: Times = lambda variant, configuration: None
    used: Collection[str] = ()


NOTHING_KNOWN = Known()


def choose(asset: Asset, dims: Mapping[str, int], device: DeviceInfo, known: Known = NOTHING_KNOWN) -> Choice:
    """The variant and constants to use; `generic` where nothing else is eligible."""
    best: tuple[tuple[bool, float, float, str], Choice] | None = None
    for variant in asset.variants:
        choice = _best_configuration(variant, dims, device, known)
        if isinstance(choice, str):
            continue
        time = math.inf if choice.time is None else choice.time
        key = (variant.name not in known.used, time, -variant.rank, variant.name)
        if best is None or key < best[0]:
            best = key, choice
    if best is None:
        raise ShaderError(f"asset {asset.name}: not even {GENERIC}.comp can run with {_text(dims)} on {device.name}")
    return best[1]


def explain(asset: Asset, dims: Mapping[str, int], device: DeviceInfo, known: Known = NOTHING_KNOWN) -> list[tuple[str, str]]:
    """(variant, why it was chosen or passed over), by falling rank."""
    chosen = choose(asset, dims, device, known)
    better = f"has a higher rank ({chosen.variant.rank})"
    if chosen.variant.name in known.used:
        better = "is to be used wherever it can run"
    elif chosen.time is not None:
        better = "was measured faster"
    lines = []
    for variant in asset.variants:
        found = _best_configuration(variant, dims, device, known)
        if variant is chosen.variant:
            lines.append((variant.name, f"chosen: {chosen.reason}"))
        elif isinstance(found, str):
            lines.append((variant.name, f"passed over ({found})"))
        else:
            lines.append((variant.name, f"eligible, but {chosen.variant.name} {better}"))
    return lines


def refusal(variant: Variant, dims: Mapping[str, int], device: DeviceInfo, known: Known = NOTHING_KNOWN) -> str:
    """Why a variant is not eligible; "" if it is."""
    found = _best_configuration(variant, dims, device, known)
    return found if isinstance(found, str) else ""


def eligible_configurations(variant: Variant, device: DeviceInfo) -> list[Configuration]:
    """Those that run on the device, whatever the dimensions."""
    if any(variant.requires.unmet(device)):
        return []
    return [c for c in variant.configurations if not any(variant.requires.exceeded(device, c.constants))]


def _best_configuration(variant: Variant, dims: Mapping[str, int], device: DeviceInfo, known: Known) -> Choice | str:
    """The configuration to use, or why there is none."""
    for reason in variant.requires.unmet(device):
        return reason
    if variant.when is not None and not variant.when.holds(dims):
        failing = variant.when.failing(dims)
        return f"{failing.text} does not hold: {failing.with_values(dims)}"
    usable, refused = [], ""
    for configuration in variant.configurations:
        reason = misfit(variant, configuration, dims, device) or known.verified(variant, configuration)
        refused = refused or reason
        if not reason:
            usable.append(configuration)
    if not usable:
        return refused
    measured = {c: time for c in usable if (time := known.times(variant, c)) is not None}
    if measured:
        best = min(measured, key=lambda c: measured[c])
        return _choice(variant, best, dims, f"measured fastest, {measured[best]:.4g}", measured[best])
    costs = [estimated_cost(variant, c, dims, device) for c in usable]
    return _choice(variant, usable[costs.index(min(costs))], dims, f"rank {variant.rank}")


def misfit(variant: Variant, configuration: Configuration, dims: Mapping[str, int], device: DeviceInfo) -> str:
    """Which limit of the device a configuration exceeds for given dimensions; "" if none."""
    for reason in variant.requires.exceeded(device, configuration.constants):
        return reason
    grid = variant.grid_of(dims, configuration)
    for axis, size, limit in zip("xyz", grid, device.max_workgroup_count, strict=True):
        if size > limit:
            return f"its grid has {size:,} workgroups in {axis}, the device allows {limit:,}"
    return ""


def _choice(
    variant: Variant, configuration: Configuration, dims: Mapping[str, int], reason: str, time: float | None = None
) -> Choice:
    constants = f", {configuration}" if configuration.constants else ""
    return Choice(variant, configuration, variant.grid_of(dims, configuration), f"{reason}{constants}", time)


def estimated_cost(variant: Variant, configuration: Configuration, dims: Mapping[str, int], device: DeviceInfo) -> float:
    """Time in no particular unit: rounds of workgroups over the device's cores, times their work, over their speed."""
    if variant.work is None:
        return 0.0
    groups = math.prod(variant.grid_of(dims, configuration))
    rounds = groups / CORES.get(device.kind, CORES["other"])
    # Few rounds end together, and a part of one takes as long as a whole one.
    rounds = math.ceil(rounds) if rounds <= 4 else rounds
    size = variant.requires.limits.get("workgroup_invocations")
    invocations = rounds * (size.number(configuration.constants) if size else BASELINE.max_workgroup_invocations)
    busy = min(1.0, math.sqrt(invocations / BUSY_CORE))
    return rounds * variant.work.number({**dims, **configuration.constants}) / (configuration.speed * busy)


def _text(dims: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {size}" for name, size in dims.items())
