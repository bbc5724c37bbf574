"""GLSL in, SPIR-V out, through a cache on disk that processes share.

A shader is looked up by its source with all includes expanded, the compiler's name and version, the target, and what is
asked of the device's floats.
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
# Asked for where the device has the feature; (capability, execution mode), in the core of SPIR-V since 1.4. Without
# them drivers may flush subnormals to zero and take x * 0 or x - x for 0 even if x is infinite or NaN.
FLOAT_MODES = {
    "subnormals_f32": (4464, 4459),  # DenormPreserve
    "nonfinite_f32": (4466, 4461),  # SignedZeroInfNanPreserve
}


_Mode = tuple[int, int]


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


def compile_glsl(
    source: str, name: str, *, api_version: ApiVersion = BASELINE_API, features: frozenset[str] = frozenset()
) -> bytes:
    """SPIR-V of a compute shader; `name` stands for it in errors. Raises ShaderError. Safe in several threads.

    `features` are the device's: those of FLOAT_MODES among them are asked for.
    """
    return compile_shader(source, name, api_version=api_version, features=features).code


def compile_shader(
    source: str, name: str, *, api_version: ApiVersion = BASELINE_API, features: frozenset[str] = frozenset()
) -> CompiledShader:
    """As `compile_glsl`, with what it took."""
    started = time.perf_counter()
    compiler = find_compiler()
    lines = tuple(_expand(source, name, set()))
    modes = tuple(mode for feature, mode in FLOAT_MODES.items() if feature in features)
    path = _cache_path(lines, compiler.identity, api_version, modes)
    code = cachefile.read(path)
    found = code is not None
    if code is None:
        try:
            code = compiler.compile(_complete(lines, modes), api_version)
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


def expanded(source: str, name: str) -> str:
    """The source with all includes in place, for looking things up by content. Raises ShaderError for a missing include."""
    return "\n".join(line.text for line in _expand(source, name, set()))


def _include_path(relative: str, place: str) -> Path:
    folder = shaders_root() / "include"
    path = folder / relative
    if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
        return path
    there = ", ".join(sorted(file.name for file in folder.glob("*.glsl"))) or "nothing"
    raise ShaderError(f'{place}: #include "{relative}" is not in assets/shaders/include, which holds {there}')


def _complete(lines: tuple[_Line, ...], modes: tuple[_Mode, ...]) -> str:
    """The text for the compiler: `#line` wherever the place jumps, so that its messages name file and line, and the modes."""
    version = next((index for index, line in enumerate(lines) if _VERSION.match(line.text)), -1)
    text = [line.text for line in lines[: version + 1]]
    text.append("#extension GL_GOOGLE_cpp_style_line_directive : require")
    if modes:
        text.append("#extension GL_EXT_spirv_intrinsics : require")
    file, following = None, 0
    for line in lines[version + 1 :]:
        if (line.file, line.number) != (file, following):
            text.append(f'#line {line.number} "{_quotable(line.title)}"')
        text.append(line.text)
        file, following = line.file, line.number + 1
    # Modes stand last: the shader's own #extension lines must come before all declarations.
    text += [f"spirv_execution_mode(capabilities = [{capability}], {mode}, 32);" for capability, mode in modes]
    return "\n".join(text) + "\n"


def _quotable(name: str) -> str:
    return name.replace("\\", "/").replace('"', "'").replace("\n", " ")


def _cache_path(lines: tuple[_Line, ...], compiler: str, api_version: ApiVersion, modes: tuple[_Mode, ...]) -> Path:
    # The shader's own name is left out: equal sources share one entry.
    content = hashlib.sha256(f"{compiler}\nspirv1.{spirv_minor(api_version)} {modes}\n".encode())
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
