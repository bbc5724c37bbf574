"""GLSL in, SPIR-V out, through a cache on disk that processes share.

A shader is looked up by its source with all includes expanded, the compiler's name and version, and the target.
Nothing but a miss loads the compiler. Errors name the file and line of the source or the include they are in.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from munet.engine import cachefile, settings
from munet.engine.assets import shaders_root
from munet.engine.codegen.glslang import ApiVersion, CompileError, find_compiler, spirv_minor
from munet.engine.errors import ShaderError

BASELINE_API: ApiVersion = (1, 2, 0)
_SPIRV_MAGIC = (0x07230203).to_bytes(4, "little")
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"\s*(?://.*)?$')
_SUMMARIES = ("compilation errors", "compilation terminated", "SPIR-V is not generated")
_VERSION = re.compile(r"^\s*#\s*version\b")


@dataclass(frozen=True)
class CompiledShader:
    """SPIR-V with where it came from."""

    code: bytes
    from_cache: bool
    elapsed_ms: float


@dataclass
class CompileCounts:
    """What this process has compiled and what it found in the cache."""

    compiles: int = 0
    hits: int = 0


counts = CompileCounts()
_counts_lock = threading.Lock()


def compile_glsl(source: str, name: str, *, api_version: ApiVersion = BASELINE_API) -> bytes:
    """SPIR-V of a compute shader; `name` stands for it in errors. Raises ShaderError. Safe in several threads."""
    return compile_shader(source, name, api_version=api_version).code


def compile_shader(source: str, name: str, *, api_version: ApiVersion = BASELINE_API) -> CompiledShader:
    """As `compile_glsl`, with what it took."""
    started = time.perf_counter()
    compiler = find_compiler()
    lines = tuple(_expand(source, name, set()))
    path = _cache_path(lines, compiler.identity, api_version)
    code = cachefile.read(path)
    found = code is not None
    if code is None:
        try:
            code = compiler.compile(_with_places(lines), api_version)
        except CompileError as failure:
            raise ShaderError(_readable(str(failure), name)) from failure
        if code[:4] != _SPIRV_MAGIC:
            raise ShaderError(f"{name}: {compiler.identity} gave no SPIR-V")
        cachefile.write(path, code)
    with _counts_lock:
        counts.hits += found
        counts.compiles += not found
    return CompiledShader(code, found, 1000 * (time.perf_counter() - started))


@dataclass(frozen=True)
class _Line:
    """One line of the expanded source and where it stands; `file` is "" in the shader itself."""

    text: str
    file: str
    number: int
    title: str


def _expand(source: str, name: str, included: set[str], file: str = "") -> Iterator[_Line]:
    """All lines with includes in place of the `#include`s, each file once: a second include of it adds nothing."""
    for number, text in enumerate(source.splitlines(), start=1):
        match = _INCLUDE.match(text)
        if match is None:
            yield _Line(text, file, number, file or name)
        elif match[1] not in included:
            included.add(match[1])
            path = _include_path(match[1], f"{file or name}:{number}")
            yield from _expand(path.read_text(encoding="utf-8"), name, included, match[1])


def _include_path(relative: str, place: str) -> Path:
    folder = shaders_root() / "include"
    path = folder / relative
    if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
        return path
    there = ", ".join(sorted(file.name for file in folder.glob("*.glsl"))) or "nothing"
    raise ShaderError(f'{place}: #include "{relative}" is not in assets/shaders/include, which holds {there}')


def _with_places(lines: tuple[_Line, ...]) -> str:
    """The text for the compiler: `#line` wherever the place jumps, so that its messages name file and line."""
    version = next((index for index, line in enumerate(lines) if _VERSION.match(line.text)), -1)
    text = [line.text for line in lines[: version + 1]]
    text.append("#extension GL_GOOGLE_cpp_style_line_directive : require")
    file, following = None, 0
    for line in lines[version + 1 :]:
        if (line.file, line.number) != (file, following):
            text.append(f'#line {line.number} "{_quotable(line.title)}"')
        text.append(line.text)
        file, following = line.file, line.number + 1
    return "\n".join(text) + "\n"


def _quotable(name: str) -> str:
    return name.replace("\\", "/").replace('"', "'").replace("\n", " ")


def _cache_path(lines: tuple[_Line, ...], compiler: str, api_version: ApiVersion) -> Path:
    # The shader's own name is left out: equal sources share one entry.
    content = hashlib.sha256(f"{compiler}\nspirv1.{spirv_minor(api_version)}\n".encode())
    for line in lines:
        content.update(f"{line.file}:{line.text}\n".encode())
    key = content.hexdigest()
    return settings.current().cache_dir / "spirv" / key[:2] / f"{key}.spv"


def _readable(log: str, name: str) -> str:
    """The compiler's messages without its summary lines: `file:line: message`, one a line."""
    messages = []
    for line in log.splitlines():
        text = line.strip().removeprefix("ERROR: ")
        if text and not any(summary in text for summary in _SUMMARIES):
            # Before the first #line the compiler only knows "string 0".
            messages.append(f"{name}:{text[2:]}" if text.startswith("0:") else text)
    return "\n".join(messages) or f"{name}: the GLSL compiler failed without saying why"
