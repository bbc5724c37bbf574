"""GLSL to SPIR-V: places in errors, targets, and a cache that may be shared, damaged or missing. Needs no device."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from munet.engine import cachefile
from munet.engine.codegen import glslang, spirv
from munet.engine.errors import ShaderError

SHADER = """#version 450
#include "half.glsl"
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer X { float x[]; };
void main() { x[gl_GlobalInvocationID.x] = half_of(ARGUMENT); }
"""
GOOD = SHADER.replace("ARGUMENT", "1.0")


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and shader assets with two includes; gives the cache's folder."""
    include = tmp_path / "shaders" / "include"
    include.mkdir(parents=True)
    (include / "constants.glsl").write_text("const float HALF = 0.5;\n")
    (include / "half.glsl").write_text('#include "constants.glsl"\n\nfloat half_of(float x) {\n    return HALF * x;\n}\n')
    monkeypatch.setattr(spirv, "shaders_root", lambda: tmp_path / "shaders")
    monkeypatch.setenv("MUNET_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def compiled(source: str = GOOD, name: str = "test") -> spirv.CompiledShader:
    return spirv.compile_shader(source, name)


def test_second_compile_comes_from_the_cache_whatever_the_name():
    before = spirv.counts.compiles, spirv.counts.hits
    first, second = compiled(), compiled(name="another name")
    assert (first.from_cache, second.from_cache) == (False, True)
    assert first.code == second.code
    assert (spirv.counts.compiles, spirv.counts.hits) == (before[0] + 1, before[1] + 1)


def test_a_changed_include_is_compiled_anew(tmp_path: Path):
    first = compiled()
    (tmp_path / "shaders" / "include" / "constants.glsl").write_text("const float HALF = 0.25;\n")
    second = compiled()
    assert not second.from_cache
    assert first.code != second.code


def test_an_include_named_twice_is_taken_once():
    assert compiled(GOOD.replace('#include "half.glsl"', '#include "half.glsl"\n#include "constants.glsl"')).code


@pytest.mark.parametrize(("api_version", "minor"), [((1, 2, 0), 5), ((1, 3, 230), 6), ((1, 4, 0), 6)])
def test_target_follows_the_device(api_version: tuple[int, int, int], minor: int):
    code = spirv.compile_glsl(GOOD, "test", api_version=api_version)
    assert code[:8] == (0x07230203).to_bytes(4, "little") + (1 << 16 | minor << 8).to_bytes(4, "little")


def test_errors_name_the_shader_and_its_line():
    with pytest.raises(ShaderError) as caught:
        compiled(SHADER.replace("ARGUMENT", "missing"), "row mean")
    assert str(caught.value) == "row mean:5: 'missing' : undeclared identifier"


def test_errors_name_the_include_and_its_line(tmp_path: Path):
    (tmp_path / "shaders" / "include" / "half.glsl").write_text("float half_of(float x) {\n    return x * nowhere;\n}\n")
    with pytest.raises(ShaderError, match=r"^half\.glsl:2: 'nowhere'"):
        compiled()


@pytest.mark.parametrize("name", ["thirds.glsl", "../../secret.glsl"])
def test_a_missing_include_is_named_with_what_there_is(name: str):
    with pytest.raises(ShaderError) as caught:
        compiled(GOOD.replace("half.glsl", name), "row mean")
    message = f'row mean:2: #include "{name}" is not in assets/shaders/include, which holds constants.glsl, half.glsl'
    assert str(caught.value) == message


@pytest.mark.parametrize("damage", [b"", b"rubbish", "flip", "cut"])
def test_damaged_entries_are_rebuilt(folders: Path, damage: bytes | str):
    good = compiled().code
    (entry,) = folders.rglob("*.spv")
    stored = entry.read_bytes()
    flipped = stored[:-5] + bytes([stored[-5] ^ 1]) + stored[-4:]
    entry.write_bytes(damage if isinstance(damage, bytes) else flipped if damage == "flip" else stored[:-4])
    again = compiled()
    assert (again.from_cache, again.code) == (False, good)
    assert compiled().from_cache


def test_a_cache_that_cannot_be_written_only_costs_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "file").write_text("a file where the cache's folder should be")
    monkeypatch.setenv("MUNET_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert [compiled().from_cache for _ in range(2)] == [False, False]


def test_a_full_disk_only_costs_time(monkeypatch: pytest.MonkeyPatch, folders: Path):
    def full(*_args: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cachefile.tempfile, "NamedTemporaryFile", full)
    assert [compiled().from_cache for _ in range(2)] == [False, False]
    assert not list(folders.rglob("*.spv"))


def test_threads_compile_at_once():
    sources = [SHADER.replace("ARGUMENT", f"{number}.0") for number in range(24)]
    with ThreadPoolExecutor(4) as threads:
        codes = list(threads.map(lambda source: compiled(source).code, sources))
    assert len(set(codes)) == len(sources)
    assert codes == [compiled(source).code for source in sources]


def test_processes_share_the_cache(folders: Path):
    script = (
        "from munet.engine.codegen import spirv, glslang\n"
        "plain = '#version 450\\nlayout(local_size_x = 8) in;\\nvoid main() {}\\n'\n"
        "spirv.compile_glsl(plain, 'plain')\n"
        "print(spirv.counts.compiles, spirv.counts.hits)\n"
    )
    command, root = [sys.executable, "-c", script], Path(__file__).parents[2]
    said = [subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout for _ in range(2)]
    assert said == ["1 0\n", "0 1\n"]
    assert not [file for file in folders.rglob("*") if file.is_file() and file.suffix != ".spv"], "temporary files were left"


@pytest.fixture
def no_libraries(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(glslang, "_libraries", lambda: ())
    glslang._find.cache_clear()
    yield
    glslang._find.cache_clear()


@pytest.mark.usefixtures("no_libraries")
def test_a_binary_serves_where_the_libraries_are_missing(monkeypatch: pytest.MonkeyPatch):
    binary = Path(sys.executable).with_name("glslangValidator")
    if not binary.exists():
        pytest.skip("there is no glslangValidator beside this Python")
    monkeypatch.setenv("MUNET_GLSLANG", str(binary))
    assert compiled().code[:4] == (0x07230203).to_bytes(4, "little")
    with pytest.raises(ShaderError, match=r"^row mean:5: 'missing' : undeclared identifier$"):
        compiled(SHADER.replace("ARGUMENT", "missing"), "row mean")


@pytest.mark.usefixtures("no_libraries")
def test_no_compiler_at_all_is_an_error_with_a_cure(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("MUNET_GLSLANG", raising=False)
    with pytest.raises(ShaderError, match=r"no GLSL compiler.*MUNET_GLSLANG"):
        compiled()


@pytest.mark.usefixtures("no_libraries")
def test_a_wrong_binary_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MUNET_GLSLANG", "/nowhere/glslang")
    with pytest.raises(ShaderError, match="/nowhere/glslang cannot be run"):
        compiled()
