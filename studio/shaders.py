"""What the shader panel shows, in words: rows of variants, verdicts, requirements, faults, names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from munet.shaders import BROKEN, OK, REFUSED, UNVERIFIED, WRONG, AssetView, Tuned, VariantView
from studio.texts import text

ICONS = {OK: "good", UNVERIFIED: "circle", REFUSED: "lock", WRONG: "error", BROKEN: "error"}
Key = tuple[str, str]  # (asset, variant)


@dataclass(frozen=True)
class Row:
    """A line of the list: an asset's head, where `key` has no variant, or a variant."""

    key: Key
    label: str
    verdict: str = ""
    time: str = ""
    own: bool = False
    used: bool = False
    chosen: bool = False  # computes a pass of the session that is open


@dataclass(frozen=True)
class Line:
    """A line of the details. `mood`: "", "good", "bad" or "dim"."""

    text: str
    mood: str = ""


def rows(assets: Sequence[AssetView], running: Collection[str] = ()) -> list[Row]:
    """`running`: names of variants that compute passes of the session."""
    found: list[Row] = []
    for asset in assets:
        found.append(Row((asset.name, ""), f"{asset.name} ({', '.join(asset.dimensions)})"))
        for view in asset.variants:
            us = time_text(view.us) if view.us is not None and view.verdict != BROKEN else ""
            key = (asset.name, view.name)
            found.append(Row(key, view.name, view.verdict, us, view.own, view.used, view.name in running))
    return found


def find(assets: Sequence[AssetView], key: Key | None) -> VariantView | None:
    asset = next((asset for asset in assets if key is not None and asset.name == key[0]), None)
    return asset.variant(key[1]) if asset is not None and key is not None else None


def verdict_text(view: VariantView) -> str:
    """The verdict in a few words."""
    if view.verdict == OK and view.error is not None:
        return text("shader.ok", percent=max(1, round(100 * view.error)))
    return text(f"shader.{view.verdict}")


def details(asset: AssetView, view: VariantView) -> list[Line]:
    """What a variant is, needs and has come to, below the list."""
    moods = {OK: "good", UNVERIFIED: "dim", REFUSED: "bad", WRONG: "bad", BROKEN: "bad"}
    lines = [Line(view.summary)] if view.summary else []
    lines.append(Line(verdict_text(view), moods[view.verdict]))
    if view.verdict in (REFUSED, WRONG) and view.problem:
        lines.append(Line(view.problem, "bad"))
    if view.verdict == BROKEN:
        lines.append(Line(text("shader.kept" if view.kept else "shader.left_out"), "dim"))
    if view.us is not None:
        largest = max(asset.shapes, key=_size)
        sizes = " ".join(f"{name} {size}" for name, size in zip(asset.dimensions, largest, strict=True))
        lines.append(Line(text("shader.time", time=time_text(view.us), sizes=sizes), "dim"))
    lines.append(Line(text("shader.needs") if view.needs else text("shader.needs_nothing"), "dim"))
    lines += [Line(f"  {need.lacks or need.text}", "bad" if need.lacks else "good") for need in view.needs]
    if view.when:
        lines.append(Line(text("shader.when", when=view.when)))
    if view.grid:
        lines.append(Line(text("shader.grid", grid=" × ".join(view.grid)), "dim"))
    many = [c for c in view.configurations if c.text]
    if many:
        lines.append(Line(text("shader.configurations", count=len(many)), "dim"))
        for configuration in many:
            judged = configuration.judged
            mood = "dim" if judged is None else "good" if judged.fine else "bad"
            us = f": {time_text(judged.us)}" if judged is not None and judged.us is not None else ""
            lines.append(Line(f"  {configuration.text}{us}", "bad" if configuration.refused else mood))
    if view.times:
        lines.append(Line(text("shader.tuned", count=len(view.times)), "dim"))
        lines += [Line(f"  {sizes}: {time_text(us)}", "dim") for sizes, us in view.times.items()]
    return lines


def contract_lines(asset: AssetView) -> list[Line]:
    """What all variants of an asset must do."""
    found = [Line(text("shader.contract"), "dim")]
    found += [Line(f"  {name}: {access}") for name, access in asset.buffers.items()]
    found += [Line(f"  {tolerance}", "dim") for tolerance in asset.tolerance]
    return [*found, Line(text("shader.shapes", count=len(asset.shapes)), "dim")]


def free_name(asset: AssetView, base: str) -> str:
    """A name for a copy that no variant has."""
    taken = {view.name for view in asset.variants}
    stem = base.rstrip("0123456789").rstrip("_")
    return next(name for number in range(2, 1000) if (name := f"{stem}_{number}") not in taken)


def time_text(us: float) -> str:
    return f"{us:.3g} µs" if us < 1000 else f"{us / 1000:.3g} ms"


def tuned_text(found: Sequence[Tuned]) -> str:
    """What tuning found out, in one sentence."""
    best: dict[tuple[int, ...], Tuned] = {}
    for measured in found:
        sizes = tuple(measured.dims.values())
        if sizes not in best or measured.us < best[sizes].us:
            best[sizes] = measured
    counts: dict[str, int] = {}
    for measured in best.values():
        counts[measured.variant] = counts.get(measured.variant, 0) + 1
    names = ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))
    return text("shader.tune_done", count=len(best), names=names)


def _size(shape: Sequence[int]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
