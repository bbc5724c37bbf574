"""Kernels in, faults of their SPIR-V out: the validator of SPIRV-Tools, in this process (spirv-val takes 20 ms a shader).

Its library comes with the compiler's; where the compiler is a binary there is nothing to validate with.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import cffi

from munet.engine.codegen import glslang
from munet.engine.codegen.spirv import compile_glsl
from munet.engine.device import DeviceInfo
from munet.engine.passlist import Kernel
from munet.engine.program import Program

_DECLARATIONS = """
typedef struct { size_t line, column, index; char *error; bool is_text_source; } spv_diagnostic_t;
typedef struct spv_context_t spv_context_t;
bool spvParseTargetEnv(const char *, int *);
spv_context_t *spvContextCreate(int);
void spvContextDestroy(spv_context_t *);
int spvValidateBinary(const spv_context_t *, const uint32_t *, size_t, spv_diagnostic_t **);
void spvDiagnosticDestroy(spv_diagnostic_t *);
"""
_LIBRARIES = glslang._libraries()  # before any test hides them
MISSING = "" if _LIBRARIES else "the library of SPIRV-Tools is not installed"


def kernels_of(program: Program) -> set[Kernel]:
    return {p.kernel for stage in program.pass_lists for p in stage}


def spirv_faults(kernels: Iterable[Kernel], info: DeviceInfo) -> list[str]:
    """What is wrong with the SPIR-V that a device gets, a text a kernel; nothing if the validator is missing."""
    return [] if MISSING else list(_faults(kernels, info))


def fault_of(code: bytes, api_version: tuple[int, int, int]) -> str:
    """What the validator says of a module for Vulkan 1.2 or 1.3; "" if it is valid."""
    ffi, library = _load()
    target, diagnostic = ffi.new("int *"), ffi.new("spv_diagnostic_t **")
    assert library.spvParseTargetEnv(f"vulkan1.{3 if api_version >= (1, 3, 0) else 2}".encode(), target)
    context = library.spvContextCreate(target[0])
    try:
        if library.spvValidateBinary(context, ffi.from_buffer("uint32_t[]", code), len(code) // 4, diagnostic) == 0:
            return ""
        return ffi.string(diagnostic[0].error).decode() if diagnostic[0] else "not valid"
    finally:
        library.spvDiagnosticDestroy(diagnostic[0])
        library.spvContextDestroy(context)


def _faults(kernels: Iterable[Kernel], info: DeviceInfo) -> Iterator[str]:
    for kernel in kernels:
        code = compile_glsl(kernel.glsl, kernel.name, api_version=info.api_version, features=info.features)
        if fault := fault_of(code, info.api_version):
            yield f"{kernel.name}: {fault}\n{kernel.glsl}"


@functools.cache
def _load() -> tuple[Any, Any]:
    ffi = cffi.FFI()
    ffi.cdef(_DECLARATIONS)
    return ffi, ffi.dlopen(str(_LIBRARIES[0]))
