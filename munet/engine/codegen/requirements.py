"""What a shader variant needs of a device: the `requires` of its metadata, tested against DeviceInfo and its #extension lines.

Limits may be formulas of the variant's constants; they are then tested for each choice of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from munet.engine.codegen.formula import Formula
from munet.engine.device import DeviceInfo

LIMITS = {"workgroup_invocations": "invocations a workgroup", "shared_bytes": "bytes of shared memory"}
LISTS = ("subgroup_ops", "subgroup_size", "features", "extensions", "vendor")
KNOWN = (*LIMITS, *LISTS)

EXTENSIONS: dict[str, tuple[str, str] | None] = {  # GLSL extension -> the requirement that it stands for, None if it needs none
    "GL_EXT_control_flow_attributes": None,
    "GL_GOOGLE_include_directive": None,
    "GL_EXT_shader_explicit_arithmetic_types": None,
    "GL_EXT_shader_explicit_arithmetic_types_int32": None,
    "GL_EXT_shader_explicit_arithmetic_types_int8": ("features", "shader_int8"),
    "GL_EXT_shader_explicit_arithmetic_types_int16": ("features", "shader_int16"),
    "GL_EXT_shader_explicit_arithmetic_types_int64": ("features", "shader_int64"),
    "GL_EXT_shader_explicit_arithmetic_types_float16": ("features", "shader_f16"),
    "GL_EXT_shader_explicit_arithmetic_types_float64": ("features", "shader_f64"),
    "GL_EXT_shader_16bit_storage": ("features", "storage_16bit"),
    "GL_EXT_shader_8bit_storage": ("features", "storage_8bit"),
    "GL_EXT_scalar_block_layout": ("features", "scalar_block_layout"),
    "GL_KHR_memory_scope_semantics": ("features", "memory_model"),
    "GL_KHR_cooperative_matrix": ("features", "cooperative_matrix"),
    "GL_EXT_shader_atomic_float": ("features", "atomic_float_add"),
    **{
        f"GL_KHR_shader_subgroup_{name}": ("subgroup_ops", name)
        for name in ("basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative", "clustered", "quad")
    },
}


@dataclass(frozen=True)
class Requirements:
    """Lists of what must be there, and lower bounds of the device's limits."""

    subgroup_ops: tuple[str, ...] = ()
    subgroup_size: tuple[int, ...] = ()  # any of them
    features: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    vendor: tuple[str, ...] = ()  # any of them; only for a fault of a driver, with a link beside it
    limits: Mapping[str, Formula] = field(default_factory=dict)

    def named(self) -> set[tuple[str, str]]:
        """Requirements that an #extension line may stand for."""
        return {("subgroup_ops", name) for name in self.subgroup_ops} | {("features", name) for name in self.features}

    def unmet(self, device: DeviceInfo) -> Iterator[str]:
        """What the device lacks whatever the constants are, as clauses."""
        return (lacks for _, lacks in self.stated(device) if lacks)

    def stated(self, device: DeviceInfo) -> Iterator[tuple[str, str]]:
        """Each requirement that does not depend on constants, in words, and what the device lacks of it, "" if nothing."""
        if self.subgroup_size:
            met = device.subgroup_size in self.subgroup_size
            needed = _any_of(self.subgroup_size)
            yield f"subgroup size {needed}", "" if met else f"subgroup size is {device.subgroup_size}, needs {needed}"
        if self.vendor:
            needed, met = _any_of(self.vendor), device.vendor in self.vendor
            yield f"vendor {needed}", "" if met else f"vendor is {device.vendor or 'unknown'}, needs {needed}"
        wanted = (
            ("subgroup operations", self.subgroup_ops, device.subgroup_ops),
            ("features", self.features, device.features),
            ("extensions", self.extensions, device.extensions),
        )
        for what, names, present in wanted:
            missing = [name for name in names if name not in present]
            if names:
                yield f"{what}: {', '.join(names)}", f"{what} missing: {', '.join(missing)}" if missing else ""

    def exceeded(self, device: DeviceInfo, constants: Mapping[str, int]) -> Iterator[str]:
        """Limits of the device that are too low for a choice of constants, as clauses."""
        offered = {"workgroup_invocations": device.max_workgroup_invocations, "shared_bytes": device.shared_bytes}
        for name, formula in self.limits.items():
            needed = formula.number(constants)
            if needed > offered[name]:
                yield f"needs {needed:,} {LIMITS[name]}, the device has {offered[name]:,}"


def _any_of(choices: tuple[object, ...]) -> str:
    *most, last = map(str, choices)
    return f"{', '.join(most)} or {last}" if most else last
