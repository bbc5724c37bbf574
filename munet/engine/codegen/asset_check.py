"""Compares a shader variant with its contract by what its SPIR-V says: constants, workgroup, push block, buffers.

`shader_asset.py` reads text alone, so that a program can be compiled where there is no GLSL compiler; this needs one.
"""

from __future__ import annotations

from collections.abc import Iterator

from munet.engine.codegen.metadata import declared_constants
from munet.engine.codegen.reflect import Reflection, reflect
from munet.engine.codegen.shader_asset import BASELINE, GENERIC, Asset, Contract, Variant
from munet.engine.codegen.spirv import BASELINE_API, compile_glsl
from munet.engine.errors import DeclarationError

ApiVersion = tuple[int, int, int]


def check_asset(asset: Asset, *, api_version: ApiVersion = BASELINE_API) -> None:
    """Raises ShaderError if a variant does not compile, DeclarationError naming file and line if it breaks the contract."""
    for variant in asset.variants:
        check_variant(asset.name, asset.contract, variant, api_version=api_version)


def check_variant(name: str, contract: Contract, variant: Variant, *, api_version: ApiVersion = BASELINE_API) -> None:
    """As `check_asset`, one variant of the asset `name`. All lines that break the contract are in the message."""
    found = reflect(compile_glsl(variant.source, variant.title, api_version=api_version))
    faults = (*_constants(variant, found), *_workgroup(variant, found), *_interface(name, contract, variant, found))
    if faults:
        raise DeclarationError("\n".join(f"{variant.title}:{line}: {message}" for line, message in faults))


def _constants(variant: Variant, found: Reflection) -> Iterator[tuple[int, str]]:
    lines = {name: line for name, (_, line) in declared_constants(variant.source).items()}
    compiled = {constant.name: constant.constant_id for constant in found.constants}
    for name, number in compiled.items():
        if name not in variant.constant_ids:
            yield 1, f"the SPIR-V has a specialization constant {name} that no line layout(constant_id = ...) const declares."
        elif variant.constant_ids[name] != number:
            said = variant.constant_ids[name]
            yield lines[name], f"{name} has constant_id = {said} in the text, but {number} in the SPIR-V."
    for configuration in variant.configurations:
        for name in configuration.constants:
            if name not in compiled:
                yield lines[name], f"{name} is chosen by the metadata, but the shader does not use it."


def _workgroup(variant: Variant, found: Reflection) -> Iterator[tuple[int, str]]:
    if (
        variant.name == GENERIC
        and found.workgroup[0] * found.workgroup[1] * found.workgroup[2] > BASELINE.max_workgroup_invocations
    ):
        sizes = " x ".join(map(str, found.workgroup))
        yield _line(variant, "local_size"), f"{GENERIC}.comp has a workgroup of {sizes}; every device allows 128 invocations."
    limit = variant.requires.limits.get("workgroup_invocations")
    names = {constant.constant_id: constant.name for constant in found.constants}
    for configuration in variant.configurations:
        size = 1
        for default, number in zip(found.workgroup, found.workgroup_ids, strict=True):
            size *= configuration.constants.get(names.get(number, ""), default) if number is not None else default
        stated = limit.number(configuration.constants) if limit else BASELINE.max_workgroup_invocations
        if size > stated:
            where = _line(variant, "local_size")
            yield where, f"a workgroup has {size} invocations ({configuration}), but requires states {stated}."


def _interface(name: str, contract: Contract, variant: Variant, found: Reflection) -> Iterator[tuple[int, str]]:
    if found.push_members and found.push_members != contract.dimensions:
        yield (
            _line(variant, "push_constant"),
            f"the push constants are {', '.join(found.push_members)}; the dimensions of {name} are "
            f"{', '.join(contract.dimensions)}.",
        )
    bound = {(buffer.set, buffer.binding): buffer for buffer in found.buffers}
    for binding, (buffer_name, access) in enumerate(contract.buffers.items()):
        buffer = bound.pop((0, binding), None)
        if buffer is None:
            yield 1, f"binding {binding} ({buffer_name}) of {name} is missing."
            continue
        line = _line(variant, f"binding = {binding}")
        if access == "read" and buffer.written:
            yield line, f"binding {binding} ({buffer_name}) is only read by contract, but the shader writes it."
        if access == "read" and not buffer.readonly and not buffer.written:
            yield line, f"binding {binding} ({buffer_name}) is only read by contract: declare it readonly."
        if access == "write" and buffer.read:
            yield line, f"binding {binding} ({buffer_name}) is only written by contract, but the shader reads it."
    for group, binding in bound:
        yield _line(variant, f"binding = {binding}"), f"binding {binding} of set {group} is not in the contract of {name}."


def _line(variant: Variant, text: str) -> int:
    """The first line of the GLSL that holds `text`, behind the metadata; 1 if it stands in an include."""
    start = variant.source.find("---*/")
    at = variant.source.find(text, max(start, 0))
    return 1 + variant.source.count("\n", 0, at) if at >= 0 else 1
