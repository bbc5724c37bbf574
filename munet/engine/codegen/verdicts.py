"""What was found out about shader variants on a device, kept among the cached files: verdicts and measured times.

A record belongs to one variant on one device: it is found by the device, its driver, the variant's text with its includes, its
contract, and the engine's version, so whatever changes starts from nothing. What is damaged counts as nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from munet.engine import cachefile, settings
from munet.engine.codegen.asset_choice import Known
from munet.engine.codegen.own_variants import used
from munet.engine.codegen.shader_asset import Asset, Configuration, Contract, Variant
from munet.engine.codegen.spirv import expanded
from munet.engine.device import DeviceInfo
from munet.engine.errors import ShaderError
from munet.engine.version import VERSION

GENERATED = "generated"  # stands for the kernel that the compiler writes, among the measured times
WRONG = "failed its verification on this device"
UNKNOWN = "not yet verified on this device, as own variants must be"


@dataclass(frozen=True)
class Judged:
    """One choice of constants, run on all shapes of the contract. `problem` is "" if it was right."""

    runs: int
    error: float  # largest difference over what is allowed: at most 1 is right
    problem: str = ""
    us: float | None = None  # on the contract's largest shape; None where the device has no timestamps

    @property
    def fine(self) -> bool:
        return not self.problem


@dataclass(frozen=True)
class Record:
    """Of one variant on one device. `judged`: by the text of a configuration; `times`: by sizes, then by configuration, in µs."""

    judged: Mapping[str, Judged] = field(default_factory=dict)
    times: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


NOTHING = Record()


def record_of(asset: Asset, variant: Variant | None, device: DeviceInfo) -> Record:
    """What is known of a variant on a device; None stands for the generated kernel."""
    path = _path(asset, variant, device)
    try:
        stat = path.stat()
    except OSError:
        return NOTHING
    return _read(path, (stat.st_mtime_ns, stat.st_size))


def keep(asset: Asset, variant: Variant | None, device: DeviceInfo, record: Record) -> None:
    """Store a record; a cache that cannot be written forgets it."""
    content = json.dumps(asdict(record), separators=(",", ":"), sort_keys=True)
    cachefile.write(_path(asset, variant, device), content.encode())


def keep_judged(asset: Asset, variant: Variant, configuration: Configuration, device: DeviceInfo, judged: Judged) -> None:
    before = record_of(asset, variant, device)
    keep(asset, variant, device, replace(before, judged={**before.judged, str(configuration): judged}))


def keep_times(
    asset: Asset, variant: Variant | None, dims: Mapping[str, int], device: DeviceInfo, times: Mapping[str, float]
) -> None:
    """`times`: by the text of a configuration, in µs."""
    before = record_of(asset, variant, device)
    keep(asset, variant, device, replace(before, times={**before.times, sizes_text(dims): dict(times)}))


def forget(asset: Asset, variant: Variant | None, device: DeviceInfo) -> None:
    """As if it had never been run there."""
    if record_of(asset, variant, device) != NOTHING:
        keep(asset, variant, device, NOTHING)


def known_of(asset: Asset, dims: Mapping[str, int], device: DeviceInfo) -> Known:
    """What guides the choice of a variant for given sizes."""

    def verified(variant: Variant, configuration: Configuration) -> str:
        judged = record_of(asset, variant, device).judged.get(str(configuration))
        if judged is None:
            return UNKNOWN if variant.own else ""
        return "" if judged.fine else WRONG

    def times(variant: Variant, configuration: Configuration) -> float | None:
        return record_of(asset, variant, device).times.get(sizes, {}).get(str(configuration))

    sizes = sizes_text(dims)
    return Known(verified, times, used(asset.name))


def generated_us(asset: Asset, dims: Mapping[str, int], device: DeviceInfo) -> float | None:
    """The measured time of the generated kernel for given sizes."""
    return record_of(asset, None, device).times.get(sizes_text(dims), {}).get("")


def sizes_text(dims: Mapping[str, int]) -> str:
    return "x".join(map(str, dims.values()))


def _path(asset: Asset, variant: Variant | None, device: DeviceInfo) -> Path:
    content = _text(variant) if variant is not None else GENERATED
    driver = (device.name, device.vendor, device.driver, device.uuid, device.api_version, sorted(device.features))
    parts = (VERSION, driver, asset.name, _contract_text(asset.contract), content)
    key = hashlib.sha256("\n".join(map(repr, parts)).encode()).hexdigest()
    return settings.current().cache_dir / "shaders" / f"{key}.json"


@lru_cache(maxsize=256)
def _text(variant: Variant) -> str:
    try:
        return expanded(variant.source, variant.title)
    except ShaderError:  # an include that there is not: it will not compile either
        return variant.source


def _contract_text(contract: Contract) -> str:
    shapes = [tuple(shape.values()) for shape in contract.shapes]
    return repr((contract.dimensions, dict(contract.buffers), shapes, dict(contract.tolerance)))


@lru_cache(maxsize=512)
def _read(path: Path, stamp: object) -> Record:
    content = cachefile.read(path)
    try:
        return _parsed(json.loads(content)) if content is not None else NOTHING
    except (KeyError, TypeError, ValueError, AttributeError):  # written by something else: as good as damaged
        return NOTHING


def _parsed(table: Any) -> Record:
    judged = {
        str(key): Judged(int(found["runs"]), float(found["error"]), str(found["problem"]), _number(found["us"]))
        for key, found in table["judged"].items()
    }
    times = {
        str(sizes): {str(key): us for key, found in row.items() if (us := _number(found)) is not None}
        for sizes, row in table["times"].items()
    }
    return Record(judged, times)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
