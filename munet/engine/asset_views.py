"""Shader assets as tools see them: every variant with its file, what it needs, and what is known of it on a device.

Views are frozen data, made anew at each call; a person's own file that is broken is in them too, with its faults by line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from munet.engine.codegen.metadata import MAX_SOURCE_BYTES, read_source
from munet.engine.codegen.own_variants import Fault, Mark, faults, used, whole_asset
from munet.engine.codegen.requirements import LIMITS
from munet.engine.codegen.shader_asset import Asset, Configuration, Variant, asset_names
from munet.engine.codegen.verdicts import Judged, record_of
from munet.engine.device import DeviceInfo
from munet.engine.errors import DeclarationError, ProjectError
from munet.engine.files import read_file

OK, UNVERIFIED, REFUSED, WRONG, BROKEN = "ok", "unverified", "refused", "wrong", "broken"


@dataclass(frozen=True)
class Need:
    """One requirement in words; `lacks` says why this device does not meet it, "" if it does."""

    text: str
    lacks: str = ""


@dataclass(frozen=True)
class ConfigurationView:
    """One choice of constants. `judged` is None until it has been verified on the device."""

    text: str
    constants: Mapping[str, int]
    refused: str
    judged: Judged | None


@dataclass(frozen=True)
class VariantView:
    """`own`: a person's own file; `used`: wanted wherever it can run; `marks`: what is wrong in the file as it is now;
    `kept`: its last good version is in use meanwhile; `readable`: `source` is all of the file, not what could be read of it."""

    asset: str
    name: str
    path: Path
    source: str
    own: bool
    used: bool = False
    summary: str = ""
    rank: int = 0
    needs: tuple[Need, ...] = ()
    when: str = ""
    grid: tuple[str, ...] = ()
    configurations: tuple[ConfigurationView, ...] = ()
    times: Mapping[str, float] = field(default_factory=dict)  # least measured one by sizes, of tuning
    marks: tuple[Mark, ...] = ()
    kept: bool = False
    readable: bool = True

    @property
    def verdict(self) -> str:
        """ok, unverified, refused (by a requirement), wrong or broken (does not compile, or breaks its contract)."""
        if self.marks:
            return BROKEN
        usable = [view for view in self.configurations if not view.refused]
        if not usable:
            return REFUSED
        judged = [view.judged for view in usable if view.judged is not None]
        if any(not found.fine for found in judged):
            return WRONG
        return OK if len(judged) == len(usable) else UNVERIFIED

    @property
    def problem(self) -> str:
        """Why it is refused, wrong or broken; "" else."""
        lacks = [need.lacks for need in self.needs if need.lacks]
        wrong = [view.judged.problem for view in self.configurations if view.judged is not None and view.judged.problem]
        found = {BROKEN: [mark.message for mark in self.marks], REFUSED: lacks, WRONG: wrong}.get(self.verdict, [])
        return found[0] if found else ""

    @property
    def us(self) -> float | None:
        """The least time of its configurations on the contract's largest shape."""
        found = [v.judged.us for v in self.configurations if v.judged is not None and v.judged.us is not None and v.judged.fine]
        return min(found, default=None)

    @property
    def error(self) -> float | None:
        """The largest error of all runs, as a part of what is allowed."""
        return max((view.judged.error for view in self.configurations if view.judged is not None), default=None)


@dataclass(frozen=True)
class AssetView:
    """An asset with its variants by falling rank."""

    name: str
    dimensions: tuple[str, ...]
    buffers: Mapping[str, str]
    tolerance: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    contract: Path
    variants: tuple[VariantView, ...]

    def variant(self, name: str) -> VariantView | None:
        return next((view for view in self.variants if view.name == name), None)


def asset_views(device: DeviceInfo) -> tuple[AssetView, ...]:
    """All assets as they are now. Raises DeclarationError only for a fault of the shipped files."""
    return tuple(_asset_view(whole_asset(name), device) for name in asset_names())


def _asset_view(asset: Asset, device: DeviceInfo) -> AssetView:
    broken = {fault.path: fault for fault in faults(asset.name)}
    chosen = used(asset.name)
    views = [_variant_view(asset, variant, device, chosen, broken.pop(variant.path, None)) for variant in asset.variants]
    views += [_broken_view(asset.name, fault, chosen) for fault in broken.values()]
    contract = asset.contract
    tolerance = tuple(
        f"{dtype}: {t.atol:.2g} + {t.rtol:.2g} × |reference|{f', times the root of {t.scale_by}' if t.scale_by else ''}"
        for dtype, t in contract.tolerance.items()
    )
    shapes = tuple(tuple(shape.values()) for shape in contract.shapes)
    folder = next(v.path for v in asset.variants if not v.own).parent
    return AssetView(
        asset.name, contract.dimensions, contract.buffers, tolerance, shapes, folder / "contract.toml", tuple(views)
    )  # fmt: skip


def _variant_view(
    asset: Asset, variant: Variant, device: DeviceInfo, chosen: tuple[str, ...], fault: Fault | None
) -> VariantView:
    record = record_of(asset, variant, device)
    source, readable = _source_now(variant.path) if fault else (variant.source, True)
    always = [*variant.requires.unmet(device)]

    def configuration(c: Configuration) -> ConfigurationView:
        refused = [*always, *variant.requires.exceeded(device, c.constants)]
        return ConfigurationView(str(c), c.constants, refused[0] if refused else "", record.judged.get(str(c)))

    return VariantView(
        asset.name, variant.name, variant.path, source, variant.own,
        variant.name in chosen, variant.summary, variant.rank, tuple(_needs(variant, device)),
        variant.when.text if variant.when else "", tuple(formula.text for formula in variant.grid),
        tuple(map(configuration, variant.configurations)),
        {sizes: min(found.values()) for sizes, found in record.times.items() if found},
        fault.marks if fault else (), fault is not None, readable,
    )  # fmt: skip


def _broken_view(asset: str, fault: Fault, chosen: tuple[str, ...]) -> VariantView:
    source, readable = _source_now(fault.path)
    return VariantView(
        asset, fault.path.stem, fault.path, source, own=True, used=fault.path.stem in chosen, marks=fault.marks,
        readable=readable,
    )  # fmt: skip


def _source_now(path: Path) -> tuple[str, bool]:
    """What can be read of a file that something is wrong with, and whether that is all of it; its marks say why not."""
    try:
        return read_source(path), True
    except DeclarationError:
        try:
            return read_file(path, MAX_SOURCE_BYTES).decode(errors="replace"), False  # a pipe would keep whoever reads it waiting
        except ProjectError:
            return "", False


def _needs(variant: Variant, device: DeviceInfo) -> Iterator[Need]:
    yield from (Need(text, lacks) for text, lacks in variant.requires.stated(device))
    for name, formula in variant.requires.limits.items():
        exceeded = [
            reason
            for c in variant.configurations
            for reason in variant.requires.exceeded(device, c.constants)
            if LIMITS[name] in reason
        ]
        everywhere = len(exceeded) == len(variant.configurations)
        yield Need(f"{LIMITS[name]}: {formula.text}", exceeded[0] if exceeded and everywhere else "")
