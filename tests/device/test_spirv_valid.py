"""The SPIR-V of compiled projects passes the validator, for the devices of this machine and for one that has all float modes.

The kernels of single operators and of math.glsl are validated where they run. A compiler has written invalid SPIR-V before:
KhronosGroup/glslang issue 1822.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import munet.nodes  # noqa: F401  # fills the registry
from munet.engine.codegen.spirv import FLOAT_MODES, compile_glsl
from munet.engine.compile import compile_program
from munet.engine.device import DeviceInfo
from munet.engine.errors import ProjectError
from munet.engine.execute.vulkan.device import list_devices
from munet.engine.lower import lower
from munet.engine.project import load_project
from tests.device.validator import MISSING, fault_of, kernels_of, spirv_faults
from tests.engine.drawings import PROJECTS

pytestmark = [pytest.mark.skipif(bool(MISSING), reason=MISSING), pytest.mark.usefixtures("environment")]

DEVICES = [*list_devices(), DeviceInfo(name="Vulkan 1.2", max_storage_buffers=16, features=frozenset(FLOAT_MODES))]


@pytest.mark.parametrize("info", DEVICES, ids=lambda info: info.name)
@pytest.mark.parametrize("mode", ["train", "evaluate"])
@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.stem)
def test_shaders_of_projects_are_valid(info: DeviceInfo, mode: str, project: Path):
    try:
        module = lower(load_project(project), mode).module
    except ProjectError as problem:
        if "is not here" in str(problem):  # a data set that does not come with the package
            pytest.skip(str(problem))
        raise
    kernels = kernels_of(compile_program(module, info))
    assert kernels
    assert spirv_faults(kernels, info) == []


PLAIN = """#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0, std430) buffer X { float x[]; };
void main() { x[gl_GlobalInvocationID.x] *= 2.0; }
"""


@pytest.mark.parametrize("modes", [(), *((name,) for name in FLOAT_MODES), tuple(FLOAT_MODES)], ids="+".join)
def test_float_modes_are_asked_for(modes: tuple[str, ...]):
    code = compile_glsl(PLAIN, "plain", features=frozenset((*modes, "shader_f16")))
    assert fault_of(code, (1, 2, 0)) == ""
    assert instructions(code, 17) == [(1,), *((FLOAT_MODES[name][0],) for name in modes)]  # OpCapability: Shader, then theirs
    asked = [words[1:] for words in instructions(code, 16)]  # OpExecutionMode: entry point, mode, its operands
    assert asked == [(17, 64, 1, 1), *((FLOAT_MODES[name][1], 32) for name in modes)]


def test_the_validator_finds_faults():
    code = compile_glsl(PLAIN, "plain")
    assert "FunctionEnd" in fault_of(code[:-4], (1, 2, 0))
    assert fault_of(compile_glsl(PLAIN, "plain", api_version=(1, 3, 0)), (1, 2, 0)), "SPIR-V 1.6 is too new for Vulkan 1.2"


def instructions(code: bytes, opcode: int) -> list[tuple[int, ...]]:
    """The operands of all instructions of one kind, in order."""
    words = memoryview(code).cast("I")
    found, at = [], 5
    while at < len(words):
        length = words[at] >> 16
        if words[at] & 0xFFFF == opcode:
            found.append(tuple(words[at + 1 : at + length]))
        at += length
    return found
