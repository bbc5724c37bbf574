"""Reads shader assets: a folder with contract.toml and one `.comp` a variant.

    contract.toml     dimensions, buffers in order of binding, shapes to verify, tolerance: what every variant must do
    generic.comp      must exist and need nothing: it runs on every device
    <variant>.comp    valid GLSL with its metadata in a TOML comment at the top (metadata.py, formula.py, requirements.py)

What is wrong is a DeclarationError with file and line. `asset_choice.py` chooses, `asset_check.py` looks at the SPIR-V.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
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
    path: Path
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
    own: bool = False  # a person's own file, not a shipped one

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
    variants = [read_variant(file, contract) for file, _ in stamps if file.suffix == ".comp"]
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


def _tolerances(table: Table, dimensions: Sequence[str], base: Mapping[str, Tolerance] | None = None) -> dict[str, Tolerance]:
    """Tolerances by dtype; a variant's start from its contract's, and are looser only with a reason."""
    found = dict(base or {})
    for dtype, values in table.table("tolerance").values.items():
        if not isinstance(values, dict):
            table.fail(dtype, f"the tolerance of {dtype} is {values!r}, expected {{ atol = ..., rtol = ... }}.")
        inner = Table(table.title, values, table.text, table.first_line)
        inner.only(("atol", "rtol", "scale_by", "reason"))
        before = found.get(dtype, Tolerance())
        scale_by = inner.get("scale_by", str, "a dimension", before.scale_by)
        if scale_by and scale_by not in dimensions:
            inner.fail("scale_by", f"scale_by names {scale_by}; the dimensions are {', '.join(dimensions)}.")
        number = (int, float)
        made = Tolerance(
            float(inner.get("atol", number, "a number", before.atol)),
            float(inner.get("rtol", number, "a number", before.rtol)),
            scale_by,
        )
        looser = made.atol > before.atol or made.rtol > before.rtol or made.scale_by != before.scale_by
        if base is not None and looser and not inner.get("reason", str, "a sentence", ""):
            inner.fail("tolerance", f"the tolerance of {dtype} is looser than the contract's; say why in `reason`.")
        found[dtype] = made
    return found


def read_variant(path: Path, contract: Contract, text: str | None = None) -> Variant:
    """One file, or what it would be with this text. Raises DeclarationError naming file and line."""
    source, title = read_source(path) if text is None else text, title_of(path)
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
        path=path,
        source=source,
        summary=table.get("summary", str, "one sentence"),
        rank=table.get("rank", int, "a whole number"),
        requires=_requirements(source, table, tuple(ids)),
        when=table.formula("when", when, condition, dims, about) if when else None,
        grid=(x, y, z),
        work=table.formula("work", work, number_formula, names, with_constants) if work else None,
        configurations=tuple(_configurations(table, ids)),
        constant_ids=ids,
        tolerance=_tolerances(table, dims, contract.tolerance),
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
