"""Lays a fused contraction out for the shader asset, and chooses the variant that computes it.

Axes of the result that only the first factor depends on become M, those that only the second does N, those of both BATCH; the
summed names become K. Which factor counts as the first is free, as a product is: N gets the axis along which results are
neighbours in memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from munet.engine.codegen.asset_choice import Choice, choose, refusal
from munet.engine.codegen.form import Form, form_of, is_packed
from munet.engine.codegen.own_variants import whole_asset
from munet.engine.codegen.parts import contraction_of, variables_of
from munet.engine.codegen.shader_asset import GENERIC
from munet.engine.codegen.verdicts import generated_us, known_of
from munet.engine.coordinates import Indices
from munet.engine.device import DeviceInfo
from munet.engine.dtypes import F32
from munet.engine.index import Index, Var, evaluate, flatten, var
from munet.engine.ir.module import Op
from munet.engine.kernels import Site

ASSET, INCLUDE = "contraction", "contraction.glsl"
WORTH = 0.9  # of the generated kernel's time: a variant cannot share a pass with other ops
_INCLUDE_LINE = re.compile(rf'^[ \t]*#[ \t]*include[ \t]+"{re.escape(INCLUDE)}"[^\n]*$', re.MULTILINE)


@dataclass(frozen=True)
class Layout:
    """A contraction as the asset sees it. `m`, `n` and `batch` are axes of the form's space; `first` is the factor of M."""

    m: tuple[int, ...]
    n: tuple[int, ...]
    batch: tuple[int, ...]
    first: int
    dims: Mapping[str, int]

    def side(self, which: int) -> str:
        """What a factor has beside the sum: the name of its variable."""
        return "m" if which == self.first else "n"


def plan_contraction(form: Form, device: DeviceInfo) -> tuple[Choice | None, str]:
    """The variant for a contraction, or None where the generated kernel is to be used; and why."""
    if device.kind == "reference":
        return None, "the NumPy reference runs no shaders"
    layout = layout_of(form)
    if layout is None:
        return None, f"asset {ASSET} takes sums of products of two float32 factors"
    if 0 < device.loop_limit < layout.dims["K"]:
        return None, f"the driver ends loops after {device.loop_limit:,} turns, the sum has {layout.dims['K']:,} terms"
    asset = whole_asset(ASSET)
    known, generated = known_of(asset, layout.dims, device), generated_us(asset, layout.dims, device)
    choice = choose(asset, layout.dims, device, known)
    title = f"asset {ASSET}, {choice.variant.name}.comp"
    if choice.variant.name in known.used:
        return choice, f"{title}, to be used wherever it can run, {choice.reason}"
    if generated is not None and (choice.time is None or choice.time > WORTH * generated):
        return None, f"{choice.variant.name}.comp measured not worth it, {generated:.4g} µs"
    if choice.time is not None or (choice.variant.name != GENERIC and not device.is_cpu):
        return choice, f"{title}, {choice.reason}"
    if device.is_cpu:
        return None, "tiles do not pay on a CPU"
    passed = next((v for v in asset.variants if v.name != GENERIC and not v.own), None)
    return None, f"{passed.name}.comp passed over ({refusal(passed, layout.dims, device, known)})" if passed else ""


def shapes_of(ops: Iterable[Op]) -> list[dict[str, int]]:
    """Dimensions of the contractions among the ops of a program that the asset can compute, each once."""
    found: dict[tuple[int, ...], dict[str, int]] = {}
    for op in ops:
        form = form_of(op) if not is_packed(op) else None
        layout = layout_of(form) if form is not None and form.kind == "contraction" else None
        if layout is not None and all(layout.dims.values()):
            found[tuple(layout.dims.values())] = dict(layout.dims)
    return list(found.values())


def layout_of(form: Form) -> Layout | None:
    """None for what the asset cannot express: other than two factors, or another dtype than f32."""
    op, kernel = contraction_of(form)
    site = Site(op)
    index = axes_of(form)
    factors = kernel.factors(site, kernel.output_indices(index) | kernel.sums(site))
    if len(factors) != 2 or any(factor.dtype is not F32 for factor in factors) or op.output.dtype is not F32:
        return None
    used = [variables_of(factor) for factor in factors]
    sides: dict[tuple[bool, bool], list[int]] = {}
    for axis, place in enumerate(index):
        if place.terms:
            variable = place.terms[0][0]
            sides.setdefault((variable in used[0], variable in used[1]), []).append(axis)
    own, other = sides.get((True, False), []), sides.get((False, True), [])
    batch = sides.get((True, True), []) + sides.get((False, False), [])
    first = 0
    if _fastest_axis(form, [*own, *other]) in own:
        own, other, first = other, own, 1
    sizes = {"BATCH": batch, "M": own, "N": other}
    dims = {name: math.prod(form.space[axis] for axis in axes) for name, axes in sizes.items()}
    dims["K"] = math.prod(kernel.summed(site).values())
    if 0 in form.space:
        dims["BATCH"] = 0
    return Layout(tuple(own), tuple(other), tuple(batch), first, dims)


def axes_of(form: Form) -> Indices:
    return tuple(var(f"a{axis}", size) for axis, size in enumerate(form.space))


def _fastest_axis(form: Form, axes: Sequence[int]) -> int:
    """The axis along which the form's first result has its neighbours nearest in memory; -1 if there is none."""
    index = axes_of(form)
    value = form.outputs[0]
    position = flatten(form.coordinates(index).at[value], value.shape)
    steps = {axis: step for axis in axes if (step := step_of(position, index[axis])) > 0}
    return min(steps, key=lambda axis: (steps[axis], -axis), default=-1)


def step_of(position: Index, variable: Index) -> int:
    """How far in memory the next value of a variable lies from its first; 0 if it makes no difference or is not known."""
    if not variable.terms:
        return 0
    moving = variable.terms[0][0]
    variables = {atom for atom in position.atoms() if isinstance(atom, Var)}
    if moving not in variables:
        return 0
    origin = dict.fromkeys(variables, 0)
    try:
        return abs(evaluate(position, origin | {moving: 1}) - evaluate(position, origin))
    except TypeError:  # an index that is itself loaded
        return 0
