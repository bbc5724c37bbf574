"""Shader assets: a folder with contract.toml and one `.comp` a variant. Reads them, and chooses a variant for a device.

    contract.toml     dimensions, buffers in order of binding, shapes to verify, tolerance: what every variant must do
    generic.comp      must exist and need nothing: it runs on every device
    <variant>.comp    valid GLSL with its metadata in a TOML comment at the top (metadata.py, formula.py, requirements.py)

A variant is eligible where `requires` is met, `when` holds, and its grid is within the device's limits. Of those the one with
the least measured time is taken, where there is one, else that of the highest rank, ties by name. Of its configurations, which
are choices of its specialization constants, likewise the fastest, else the one that `work` and `speed` say is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from pathlib import Path

from munet.engine.assets import shaders_root
from munet.engine.codegen.formula import Formula, condition, number_formula
from munet.engine.codegen.metadata import (
    Table,
    declared_constants,
    extension_lines,
    read_comment,
    read_source,
    read_toml,
    title_of,
)
from munet.engine.codegen.requirements import EXTENSIONS, KNOWN, LIMITS, Requirements
from munet.engine.device import DeviceInfo
from munet.engine.errors import DeclarationError, ShaderError

GENERIC = "generic"
BASELINE = DeviceInfo()
ACCESSES = ("read", "write", "read_write")
# No portable query gives the number of cores; a choice between tile sizes only needs its order of magnitude.
CORES = {"discrete": 128, "virtual": 128, "integrated": 16, "cpu": 4, "reference": 1, "other": 16}
BUSY_CORE = 192  # invocations of a core, each with many independent sums, that hide each other's waiting; fewer are slower


@dataclass(frozen=True)
class Tolerance:
    """Allowed: (atol + rtol * |reference|), times the root of the dimension `scale_by` where one is given."""

    atol: float = 0.0
    rtol: float = 0.0
    scale_by: str = ""

    def factor(self, dims: Mapping[str, int]) -> float:
        return math.sqrt(max(dims[self.scale_by], 1)) if self.scale_by else 1.0


@dataclass(frozen=True)
class Contract:
    dimensions: tuple[str, ...]
    buffers: Mapping[str, str]  # name -> access, in order of binding
    shapes: tuple[Mapping[str, int], ...]
    tolerance: Mapping[str, Tolerance]  # by dtype
    title: str


@dataclass(frozen=True, eq=False)
class Configuration:
    """One choice of all constants that a variant lets choose. `speed` is relative to its other configurations when all of the
    device is busy."""

    constants: Mapping[str, int] = field(default_factory=dict)
    speed: float = 1.0

    def __str__(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.constants.items())


@dataclass(frozen=True, eq=False)
class Variant:
    name: str
    title: str  # its file, for messages
    source: str
    summary: str
    rank: int
    requires: Requirements
    when: Formula | None
    grid: tuple[Formula, Formula, Formula]
    work: Formula | None  # of one workgroup, in any unit
    configurations: tuple[Configuration, ...]
    constant_ids: Mapping[str, int]  # as declared in the GLSL
    tolerance: Mapping[str, Tolerance]

    def grid_of(self, dims: Mapping[str, int], configuration: Configuration) -> tuple[int, int, int]:
        x, y, z = (formula.number({**dims, **configuration.constants}) for formula in self.grid)
        return x, y, z

    def specialization(self, configuration: Configuration) -> tuple[tuple[int, int], ...]:
        """(constant id, value) of a configuration, by id."""
        return tuple(sorted((self.constant_ids[name], value) for name, value in configuration.constants.items()))


@dataclass(frozen=True, eq=False)
class Asset:
    name: str
    contract: Contract
    variants: tuple[Variant, ...]  # by falling rank, then name

    def variant(self, name: str) -> Variant:
        found = next((variant for variant in self.variants if variant.name == name), None)
        if found is None:
            known = ", ".join(variant.name for variant in self.variants)
            raise ShaderError(f"asset {self.name} has no variant {name!r}; it has {known}")
        return found


@dataclass(frozen=True, eq=False)
class Choice:
    """A variant with its constants for given dimensions."""

    variant: Variant
    configuration: Configuration
    grid: tuple[int, int, int]
    reason: str


Verdict = Callable[[Variant, Configuration], bool]  # whether it was verified on this device and driver
Times = Callable[[Variant, Configuration], float | None]  # its measured time for these dimensions, in any unit


# -- choosing ----------------------------------------------------------------------------------------------------------


def choose(
    asset: Asset, dims: Mapping[str, int], device: DeviceInfo, *, verified: Verdict | None = None, times: Times | None = None
) -> Choice:
    """The variant and constants to use; `generic` where nothing else is eligible. `verified` refuses configurations that failed
    on this device; `times` knows measured ones."""
    best: tuple[tuple[float, float, str], Choice] | None = None
    for variant in asset.variants:
        found = _best_configuration(variant, dims, device, verified, times)
        if isinstance(found, str):
            continue
        choice, time = found
        key = (math.inf if time is None else time, -variant.rank, variant.name)
        if best is None or key < best[0]:
            best = key, choice
    if best is None:
        raise ShaderError(f"asset {asset.name}: not even {GENERIC}.comp can run with {_text(dims)} on {device.name}")
    return best[1]


def explain(asset: Asset, dims: Mapping[str, int], device: DeviceInfo) -> list[tuple[str, str]]:
    """(variant, why it was chosen or passed over), by falling rank."""
    chosen = choose(asset, dims, device)
    lines = []
    for variant in asset.variants:
        found = _best_configuration(variant, dims, device, None, None)
        if variant is chosen.variant:
            lines.append((variant.name, f"chosen: {chosen.reason}"))
        elif isinstance(found, str):
            lines.append((variant.name, f"passed over ({found})"))
        else:
            lines.append((variant.name, f"eligible, but {chosen.variant.name} has a higher rank ({chosen.variant.rank})"))
    return lines


def refusal(variant: Variant, dims: Mapping[str, int], device: DeviceInfo) -> str:
    """Why a variant is not eligible; "" if it is."""
    found = _best_configuration(variant, dims, device, None, None)
    return found if isinstance(found, str) else ""


def eligible_configurations(variant: Variant, device: DeviceInfo) -> list[Configuration]:
    """Those that run on the device, whatever the dimensions."""
    if any(variant.requires.unmet(device)):
        return []
    return [c for c in variant.configurations if not any(variant.requires.exceeded(device, c.constants))]


def _best_configuration(
    variant: Variant, dims: Mapping[str, int], device: DeviceInfo, verified: Verdict | None, times: Times | None
) -> tuple[Choice, float | None] | str:
    """The configuration to use with its measured time, or why there is none."""
    for reason in variant.requires.unmet(device):
        return reason
    if variant.when is not None and not variant.when.holds(dims):
        failing = variant.when.failing(dims)
        return f"{failing.text} does not hold: {failing.with_values(dims)}"
    usable, refused = [], ""
    for configuration in variant.configurations:
        reason = _misfit(variant, configuration, dims, device)
        if not reason and verified is not None and not verified(variant, configuration):
            reason = "failed its verification on this device"
        refused = refused or reason
        if not reason:
            usable.append(configuration)
    if not usable:
        return refused
    measured = {c: time for c in usable if times is not None and (time := times(variant, c)) is not None}
    if measured:
        best = min(measured, key=lambda c: measured[c])
        return _choice(variant, best, dims, f"measured fastest, {measured[best]:.4g}"), measured[best]
    costs = [estimated_cost(variant, c, dims, device) for c in usable]
    return _choice(variant, usable[costs.index(min(costs))], dims, f"rank {variant.rank}"), None


def _misfit(variant: Variant, configuration: Configuration, dims: Mapping[str, int], device: DeviceInfo) -> str:
    for reason in variant.requires.exceeded(device, configuration.constants):
        return reason
    grid = variant.grid_of(dims, configuration)
    for axis, size, limit in zip("xyz", grid, device.max_workgroup_count, strict=True):
        if size > limit:
            return f"its grid has {size:,} workgroups in {axis}, the device allows {limit:,}"
    return ""


def _choice(variant: Variant, configuration: Configuration, dims: Mapping[str, int], reason: str) -> Choice:
    constants = f", {configuration}" if configuration.constants else ""
    return Choice(variant, configuration, variant.grid_of(dims, configuration), f"{reason}{constants}")


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


# -- reading -----------------------------------------------------------------------------------------------------------


def asset_names() -> list[str]:
    """The shipped assets."""
    return sorted(path.parent.name for path in shaders_root().glob("*/contract.toml"))


def load_asset(name: str) -> Asset:
    """A shipped asset; read anew when one of its files has changed. Raises DeclarationError naming file and line."""
    folder = shaders_root() / name
    if not (folder / "contract.toml").is_file():
        raise ShaderError(f"there is no shader asset {name!r}; there are {', '.join(asset_names())}")
    return read_asset(folder)


def read_asset(folder: Path) -> Asset:
    """The asset in a folder. Raises DeclarationError naming file and line."""
    files = (folder / "contract.toml", *sorted(folder.glob("*.comp")))
    return _read_asset(folder, tuple((file, file.stat().st_mtime_ns) for file in files if file.is_file()))


@lru_cache(maxsize=64)
def _read_asset(folder: Path, stamps: tuple[tuple[Path, int], ...]) -> Asset:
    contract = _read_contract(folder / "contract.toml")
    variants = [_read_variant(file, contract) for file, _ in stamps if file.suffix == ".comp"]
    if not any(variant.name == GENERIC for variant in variants):
        raise DeclarationError(f"{title_of(folder)}: {GENERIC}.comp is missing. Every asset has one: it runs on any device.")
    return Asset(folder.name, contract, tuple(sorted(variants, key=lambda v: (-v.rank, v.name))))


def _read_contract(path: Path) -> Contract:
    table = read_toml(path)
    table.only(("dimensions", "buffers", "shapes", "tolerance"))
    dimensions = tuple(table.get("dimensions", list, "a list of names"))
    buffers = dict(table.table("buffers").values)
    for name, access in buffers.items():
        if access not in ACCESSES:
            table.fail(name, f"buffer {name} is {access!r}, expected {', '.join(ACCESSES[:-1])} or {ACCESSES[-1]}.")
    shapes = []
    for shape in table.get("shapes", list, "a list of sizes of all dimensions"):
        if not isinstance(shape, list) or len(shape) != len(dimensions) or not all(isinstance(size, int) for size in shape):
            table.fail("shapes", f"shape {shape} does not give {', '.join(dimensions)}.")
        shapes.append(dict(zip(dimensions, shape, strict=True)))
    return Contract(dimensions, buffers, tuple(shapes), _tolerances(table, dimensions), table.title)


def _tolerances(table: Table, dimensions: Sequence[str]) -> dict[str, Tolerance]:
    found: dict[str, Tolerance] = {}
    for dtype, values in table.table("tolerance").values.items():
        inner = Table(table.title, values, table.text, table.first_line)
        inner.only(("atol", "rtol", "scale_by", "reason"))
        scale_by = inner.get("scale_by", str, "a dimension", "")
        if scale_by and scale_by not in dimensions:
            inner.fail("scale_by", f"scale_by names {scale_by}; the dimensions are {', '.join(dimensions)}.")
        number = (int, float)
        atol, rtol = (float(inner.get(key, number, "a number", 0.0)) for key in ("atol", "rtol"))
        found[dtype] = Tolerance(atol, rtol, scale_by)
    return found


def _read_variant(path: Path, contract: Contract) -> Variant:
    source, title = read_source(path), title_of(path)
    table = read_comment(source, title)
    table.only(
        ("summary", "rank", "requires", "when", "grid", "work", "constants", "configurations", "tolerance"),
    )
    ids = _constant_ids(source, table)
    dims, names = contract.dimensions, (*contract.dimensions, *ids)
    about, with_constants = f"the dimensions of {path.parent.name}", f"the dimensions and constants of {path.parent.name}"
    when, work = table.get("when", str, "a condition", ""), table.get("work", str, "a formula", "")
    grid = [str(part) for part in table.get("grid", list, "three formulas, the workgroups in x, y and z")]
    if len(grid) != 3:
        table.fail("grid", f"grid has {len(grid)} entries, expected 3: the workgroups in x, y and z.")
    x, y, z = (table.formula("grid", part, number_formula, names, with_constants) for part in grid)
    variant = Variant(
        name=path.stem,
        title=title,
        source=source,
        summary=table.get("summary", str, "one sentence"),
        rank=table.get("rank", int, "a whole number"),
        requires=_requirements(source, table, tuple(ids)),
        when=table.formula("when", when, condition, dims, about) if when else None,
        grid=(x, y, z),
        work=table.formula("work", work, number_formula, names, with_constants) if work else None,
        configurations=tuple(_configurations(table, ids)),
        constant_ids=ids,
        tolerance={**contract.tolerance, **_tolerances(table, dims)},
    )
    if variant.name == GENERIC:
        _check_generic(variant, table)
    return variant


def _constant_ids(source: str, table: Table) -> dict[str, int]:
    """Ids as the GLSL declares them; the metadata may repeat them, but not say otherwise."""
    declared = declared_constants(source)
    for name, entry in table.table("constants").values.items():
        if name not in declared:
            known = ", ".join(declared) or "none"
            table.fail(name, f"{name} is no specialization constant of the GLSL, which declares {known}.")
        if not isinstance(entry, dict):
            table.fail(name, f"{name} is {entry!r}, expected {{ choices = [...] }}.")
        Table(table.title, entry, table.text, table.first_line).only(("id", "choices"))
        if entry.get("id", declared[name][0]) != declared[name][0]:
            table.fail(name, f"{name} has id {entry['id']} here, but the GLSL declares constant_id = {declared[name][0]}.")
    return {name: number for name, (number, _) in declared.items()}


def _configurations(table: Table, ids: Mapping[str, int]) -> Iterator[Configuration]:
    given = table.get("configurations", list, "an array of tables", [])
    lists = {name: entry["choices"] for name, entry in table.table("constants").values.items() if "choices" in entry}
    for name, choices in lists.items():
        if not isinstance(choices, list) or not choices or not all(isinstance(choice, int) for choice in choices):
            table.fail(name, f"{name} has choices {choices!r}, expected a list of whole numbers.")
    if given and lists:
        table.fail("configurations", "give either choices of single constants or configurations of all, not both.")
    if not given:
        for chosen in product(*lists.values()):
            yield Configuration(dict(zip(lists, chosen, strict=True)))
    for entry in given:
        inner = Table(table.title, entry, table.text, table.first_line)
        inner.only(("constants", "speed"))
        constants = inner.get("constants", dict, "a table of constants")
        for name, value in constants.items():
            if name not in ids or not isinstance(value, int):
                table.fail(
                    name, f"{name} = {value!r} gives no specialization constant of the GLSL, which declares {', '.join(ids)}."
                )
        yield Configuration(constants, float(inner.get("speed", (int, float), "a number", 1.0)))


def _requirements(source: str, table: Table, constants: Sequence[str]) -> Requirements:
    requires = table.table("requires")
    for name in requires.values:
        if name not in KNOWN:
            table.fail(name, f"unknown requirement {name!r}; known: {', '.join(KNOWN)}.")
    lists: dict[str, tuple[str, ...]] = {}
    for name in ("subgroup_ops", "features", "extensions", "vendor"):
        value = requires.get(name, (list, str), "a list of names", [])
        lists[name] = (value,) if isinstance(value, str) else tuple(map(str, value))
    limits = {
        name: table.formula(name, str(requires.get(name, (int, str), "a number")), number_formula, constants, "the constants")
        for name in LIMITS
        if name in requires.values
    }
    made = Requirements(subgroup_size=tuple(requires.get("subgroup_size", list, "a list of sizes", [])), limits=limits, **lists)
    _check_extensions(source, table, made)
    return made


def _check_extensions(source: str, table: Table, requires: Requirements) -> None:
    """`requires` and the #extension lines say the same."""
    stood_for: set[tuple[str, str]] = set()
    for extension, line in extension_lines(source):
        place = f"{table.title}:{line}"
        if extension not in EXTENSIONS:
            raise DeclarationError(
                f"{place}: #extension {extension} is not known to the engine; it knows {', '.join(EXTENSIONS)}."
            )
        need = EXTENSIONS[extension]
        if need is not None:
            stood_for.add(need)
            if need not in requires.named():
                raise DeclarationError(f'{place}: #extension {extension} needs {need[0]} = ["{need[1]}"] in requires.')
    by_need = {need: extension for extension, need in EXTENSIONS.items() if need is not None}
    for kind, name in sorted(requires.named() - stood_for):
        if (kind, name) not in by_need:
            table.fail(kind, f"{kind} names {name!r}, which is unknown.")
        table.fail(kind, f'{kind} = ["{name}"] is required, but no line says #extension {by_need[kind, name]}.')


def _check_generic(variant: Variant, table: Table) -> None:
    needs = [*variant.requires.unmet(BASELINE)]
    needs += [reason for c in variant.configurations for reason in variant.requires.exceeded(BASELINE, c.constants)]
    if needs or variant.when is not None:
        problem = needs[0] if needs else f"when = {variant.when.text!r}" if variant.when else ""
        table.fail("requires" if needs else "when", f"{GENERIC}.comp must run on every device and for every shape: {problem}.")
