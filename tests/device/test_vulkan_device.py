"""Devices, caches and what is left behind: everything round the running of programs."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from munet.engine import cachefile
from munet.engine.errors import DeviceUnavailable
from munet.engine.execute.vulkan.api import ffi, lib, listed, struct, text
from munet.engine.execute.vulkan.device import list_devices, open_device, why_no_devices
from munet.engine.execute.vulkan.executor import VulkanExecutor
from munet.engine.program import BufferSpec
from munet.engine.session import Session
from tests.device.programs import (
    ROWS,
    SCALARS,
    accumulate,
    floats,
    program,
    push_and_constants,
    run,
    scale,
    through_temporary,
)

XOR = Path(__file__).parents[2] / "projects" / "xor.json"
_MISSING = why_no_devices()
pytestmark = [pytest.mark.device, pytest.mark.skipif(bool(_MISSING), reason=_MISSING), pytest.mark.usefixtures("environment")]


# Caches


def pipeline_files(cache: Path) -> list[Path]:
    return list(cache.glob("pipelines/*.bin"))


def test_damaged_caches_are_rebuilt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("MUNET_CACHE_DIR", str(tmp_path))
    p = scale("3.0")
    for damage in (None, "rubbish", "checked rubbish"):
        for file in tmp_path.rglob("*.*"):
            if damage == "rubbish":
                file.write_bytes(b"rubbish")
        for file in pipeline_files(tmp_path):
            if damage == "checked rubbish":
                cachefile.write(file, b"not what a driver writes")
        with VulkanExecutor() as executor:
            executor.load(p)
            executor.write("y", ROWS[0])
            run(executor, p, 0, 1)
            np.testing.assert_array_equal(floats(executor, "y"), 3 * ROWS[0])
            assert executor.counters.shader_compiles == (damage != "checked rubbish")
        assert len(pipeline_files(tmp_path)) == 1


def test_a_cache_that_cannot_be_written_only_costs_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "file").write_text("a file where the cache's folder should be")
    monkeypatch.setenv("MUNET_CACHE_DIR", str(tmp_path / "file" / "cache"))
    for _ in range(2):
        with VulkanExecutor() as executor:
            executor.load(scale("5.0"))
            assert executor.counters.shader_compiles == 1


def in_new_process(script: str, **environment: str) -> str:
    root, settings = Path(__file__).parents[2], {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=settings, cwd=root)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_second_process_compiles_nothing():
    script = (
        "from munet.engine.execute.vulkan.executor import VulkanExecutor\n"
        "from tests.device.programs import scale\n"
        "with VulkanExecutor() as executor:\n"
        "    executor.load(scale('7.0'))\n"
        "    print(executor.counters.shader_compiles, executor.counters.pipelines)\n"
    )
    assert [in_new_process(script) for _ in range(2)] == ["1 1", "0 1"]
    maps = Path("/proc/self/maps")
    if maps.exists():
        script += f"print('glslang' in open('{maps}').read())\n"
        assert in_new_process(script) == "0 1\nFalse", "a cache hit has loaded the compiler"


SHARING = """
import sys
from munet.engine.execute.vulkan.executor import VulkanExecutor
from tests.device.programs import floats, push_and_constants, run, scale
with VulkanExecutor() as executor:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(1, 25):
        executor.load(program := scale(f"{number}.0", f"scale {number}"))
    executor.load(program := push_and_constants(3, 4))
    run(executor, program, 0, 1)
    print(set(map(float, floats(executor, "y"))), executor.counters.pipelines)
"""


def test_processes_share_a_cache_at_once(tmp_path: Path):
    environment = {**os.environ, "MUNET_CACHE_DIR": str(tmp_path)}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", SHARING]
    root = Path(__file__).parents[2]
    at_once = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment, cwd=root) for _ in range(3)
    ]
    try:
        for process in at_once:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        answers = []
        for process in at_once:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in at_once:
            answers.append(process.communicate(timeout=120))
    finally:
        for process in at_once:
            process.kill()
    assert [said for said, _ in answers] == ["{7.0} 25\n"] * 3, answers
    assert len(pipeline_files(tmp_path)) == 1
    assert not list(tmp_path.rglob("*.tmp*"))
    script = SHARING.replace("counters.pipelines", "counters.shader_compiles").replace("sys.stdin.readline()", "")
    assert in_new_process(script, MUNET_CACHE_DIR=str(tmp_path)) == "ready\n{7.0} 0"


# Devices


def test_devices_are_described():
    for index, info in enumerate(list_devices()):
        assert (info.index, info.name, info.driver, info.uuid) != (index, "", "", "")
        assert info.storage_alignment >= 16
        assert info.max_storage_buffers >= 4
        assert info.subgroup_size >= 1
        assert info.memory_bytes > 0
        assert "timeline_semaphore" in info.features or "unusable" in info.notes
    device = open_device()
    device.close()
    assert ("cpu" in device.info.notes) == (device.info.kind == "cpu")
    with pytest.raises(DeviceUnavailable, match="there is no device vulkan:99; this machine has vulkan:0"):
        open_device(99)


def test_features_can_be_hidden(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MUNET_DISABLE", "storage_8bit, subgroup_arithmetic")
    with VulkanExecutor(0) as executor:
        assert "storage_8bit" not in executor.info.features
        assert "arithmetic" not in executor.info.subgroup_ops
        assert "MUNET_DISABLE" in executor.info.notes["disabled"]
    monkeypatch.setenv("MUNET_DISABLE", "timeline_semaphore")
    with pytest.raises(DeviceUnavailable, match="lacks timeline semaphores"):
        open_device()


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"MUNET_VULKAN_LIBRARY": "/nowhere/libvulkan.so"}, "the Vulkan loader cannot be loaded"),
        ({"VK_ICD_FILENAMES": "/nowhere.json", "VK_DRIVER_FILES": "/nowhere.json"}, "no Vulkan driver is installed"),
    ],
)
def test_importing_needs_no_loader_and_opening_names_what_is_missing(environment: dict[str, str], reason: str):
    script = (
        "from munet.engine.errors import DeviceUnavailable\n"
        "from munet.engine.execute.vulkan.device import list_devices\n"
        "from munet.engine.execute.vulkan.executor import VulkanExecutor\n"
        "assert list_devices() == []\n"
        "try:\n"
        "    VulkanExecutor()\n"
        "except DeviceUnavailable as missing:\n"
        "    print(missing)\n"
    )
    assert reason in in_new_process(script, **environment)


@pytest.mark.parametrize("validation", ["0", "1"])
def test_drivers_stay_loaded(validation: str):
    """NVIDIA's cannot be loaded more than 30 times in one process."""
    if not Path("/proc/self/maps").exists():
        pytest.skip("this system does not list a process's libraries in /proc")
    script = (
        "from pathlib import Path\n"
        "from munet.engine.execute.vulkan.executor import VulkanExecutor\n"
        "def libraries():\n"
        "    lines = Path('/proc/self/maps').read_text().splitlines()\n"
        "    return {line.split()[-1] for line in lines if '.so' in line}\n"
        "with VulkanExecutor():\n"
        "    loaded = libraries()\n"
        "print(sorted(loaded - libraries()))\n"
    )
    assert in_new_process(script, MUNET_VALIDATION=validation) == "[]"


def resident_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pytest.skip("this system does not tell a process's memory in /proc")


def test_building_and_closing_keeps_memory_flat():
    p, sizes = accumulate(), []
    for number in range(1000):
        with VulkanExecutor() as executor:
            executor.load(p)
            ticket = run(executor, p, 0, 3)
            executor.wait(ticket)
            executor.records(ticket)
        if number % 200 == 199:
            gc.collect()
            sizes.append(resident_bytes())
    assert sizes[-1] - sizes[0] < 12 << 20, f"resident bytes after each 200 cycles: {sizes}"


@pytest.mark.slow
def test_opening_and_closing_sessions_keeps_memory_flat():
    sizes = []
    for number in range(200):
        with Session.open(XOR) as session:
            for _ in session.train(3):
                pass
        if number % 40 == 39:
            gc.collect()
            sizes.append(resident_bytes())
    assert sizes[-1] - sizes[0] < 8 << 20, f"resident bytes after each 40 sessions: {sizes}"


def layer_version() -> tuple[int, int, int]:
    """The newest Vulkan that the validation layer knows; zeros without one."""
    for layer in listed("VkLayerProperties", lib.vkEnumerateInstanceLayerProperties):
        if text(layer.layerName) == "VK_LAYER_KHRONOS_validation":
            return layer.specVersion >> 22, layer.specVersion >> 12 & 0x3FF, layer.specVersion & 0xFFF
    return 0, 0, 0


def test_the_validation_layer_has_nothing_to_say(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MUNET_VALIDATION", "1")
    if layer_version() < (1, 3, 255):  # it takes what it does not know yet for a mistake
        monkeypatch.setenv("MUNET_DISABLE", "VK_KHR_cooperative_matrix")
    with VulkanExecutor() as executor:
        if executor.info.notes["validation"].startswith("the validation layer is not"):
            pytest.skip(executor.info.notes["validation"])
        p, temporary = accumulate(), through_temporary(planned_well=True)
        executor.load(p)
        executor.load(temporary, poison=True)
        executor.load(push_and_constants(1, 2))
        executor.load(program("none", [], [BufferSpec("empty", 0, "temporary")]))
        for first in range(0, 400, 100):
            run(executor, p, first, 100)
            run(executor, temporary, first, 9)
        if executor.info.timestamp_period_ns:
            executor.profile(p, first_step=400, feeds={"rows": ROWS[400:401], "scalars": SCALARS[400:401]})
        executor.write("y", ROWS[0])
        executor.read("y")
        executor.load(accumulate())
        executor.unload("through")
        messages = executor.validation_messages
        assert messages == []
    assert messages == [], "closing left something behind"


def test_validation_messages_are_collected(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MUNET_VALIDATION", "1")
    device = open_device()
    try:
        if not device.instance.validating:
            pytest.skip("the validation layer is not installed")
        device.functions.vkCreateBuffer(
            device.handle, struct("VkBufferCreateInfo", size=0, usage=0x20), ffi.NULL, ffi.new("VkBuffer *")
        )
        assert any("VkBufferCreateInfo-size" in message for message in device.instance.messages)
    finally:
        device.close()
