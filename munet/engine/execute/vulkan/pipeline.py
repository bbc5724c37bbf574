"""Compute pipelines: one for equal GLSL and constants, and the driver's own cache of them kept on disk.

Every binding is a storage buffer of set 0, so passes with equally many bindings and push bytes share a layout.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from munet.engine import cachefile, settings
from munet.engine.codegen.spirv import compile_shader
from munet.engine.errors import DeviceError, DeviceLost, OutOfDeviceMemory, ShaderError
from munet.engine.execute.base import Counters
from munet.engine.execute.vulkan.api import array, ffi, struct, vk
from munet.engine.execute.vulkan.device import Device
from munet.engine.passlist import Kernel
from munet.engine.stages import Report, silent

Key = tuple[str, tuple[tuple[int, int], ...], int, int]


@dataclass(frozen=True)
class Layout:
    """How a pipeline is bound: its set's layout and its own."""

    set_layout: Any
    handle: Any


@dataclass(frozen=True)
class Pipeline:
    handle: Any
    layout: Layout


class Pipelines:
    """All pipelines of a device; they live until it is closed, so going back to an earlier program is free."""

    def __init__(self, device: Device, counters: Counters):
        self._device, self._counters = device, counters
        self._functions = device.functions
        self._made: dict[Key, Pipeline] = {}
        self._layouts: dict[tuple[int, int], Layout] = {}
        self._lock = threading.Lock()
        self._path = _cache_path(device)
        self._stored = cachefile.read(self._path) or b""
        self._cache = self._new_cache(self._stored)

    def get(self, kernel: Kernel) -> Pipeline:
        """The pipeline of a kernel that `build` was given."""
        return self._made[_key(kernel)]

    def build(self, kernels: Iterable[Kernel], report: Report = silent) -> None:
        """Makes what is missing, several at once: both compilers run outside the interpreter's lock.

        When `report` raises, those that were begun are finished and kept, and the others are not begun.
        """
        missing = {_key(kernel): kernel for kernel in kernels if _key(kernel) not in self._made}
        for kernel in missing.values():
            self._layout(kernel.binding_count, kernel.push_bytes)
        count = len(missing)
        if not count:
            return
        report(f"compiling shaders 0/{count}", 0.0)
        threads = ThreadPoolExecutor(min(count, os.cpu_count() or 1, 8))
        try:
            begun = [threads.submit(self._build, kernel) for kernel in missing.values()]
            for done, future in enumerate(as_completed(begun), 1):
                future.result()
                report(f"compiling shaders {done}/{count}", done / count)
        finally:
            threads.shutdown(cancel_futures=True)

    def save(self) -> None:
        """Stores the driver's cache if it has grown."""
        size = ffi.new("size_t *")
        self._functions.checked("vkGetPipelineCacheData", self._device.handle, self._cache, size, ffi.NULL)
        content = ffi.new("char[]", size[0])
        self._functions.checked("vkGetPipelineCacheData", self._device.handle, self._cache, size, content)
        data = bytes(ffi.buffer(content, size[0]))
        if data != self._stored and cachefile.write(self._path, data):
            self._stored = data

    def close(self) -> None:
        handle = self._device.handle
        for pipeline in self._made.values():
            self._functions.vkDestroyPipeline(handle, pipeline.handle, ffi.NULL)
        for layout in self._layouts.values():
            self._functions.vkDestroyPipelineLayout(handle, layout.handle, ffi.NULL)
            self._functions.vkDestroyDescriptorSetLayout(handle, layout.set_layout, ffi.NULL)
        self._functions.vkDestroyPipelineCache(handle, self._cache, ffi.NULL)
        self._made.clear()
        self._layouts.clear()

    def _build(self, kernel: Kernel) -> None:
        info = self._device.info
        shader = compile_shader(kernel.glsl, kernel.name, api_version=info.api_version, features=info.features)
        pipeline = self._create(kernel, shader.code)
        with self._lock:
            self._made[_key(kernel)] = pipeline
            self._counters.pipelines += 1
            self._counters.shader_compiles += not shader.from_cache
            self._counters.shaders_ms += shader.elapsed_ms

    def _create(self, kernel: Kernel, code: bytes) -> Pipeline:
        layout = self._layouts[kernel.binding_count, kernel.push_bytes]
        words = ffi.from_buffer("uint32_t[]", code)
        given = struct("VkShaderModuleCreateInfo", codeSize=len(code), pCode=words)
        module = self._functions.create("vkCreateShaderModule", "VkShaderModule", given, kernel.name)
        stage = struct(
            "VkPipelineShaderStageCreateInfo",
            stage=vk.VK_SHADER_STAGE_COMPUTE_BIT,
            module=module,
            pName=ffi.new("char[]", b"main"),
            pSpecializationInfo=_specialization(kernel.constants),
        )
        info = struct("VkComputePipelineCreateInfo", stage=stage, layout=layout.handle)
        out = ffi.new("VkPipeline *")
        try:
            arguments = (self._device.handle, self._cache, 1, info, ffi.NULL, out)
            self._functions.checked("vkCreateComputePipelines", *arguments, where=f"kernel {kernel.name}")
        except (DeviceLost, OutOfDeviceMemory):
            raise
        except DeviceError as problem:
            raise ShaderError(f"{kernel.name}: the driver cannot use this shader: {problem}") from problem
        finally:
            self._functions.vkDestroyShaderModule(self._device.handle, module, ffi.NULL)
        return Pipeline(out[0], layout)

    def _layout(self, binding_count: int, push_bytes: int) -> Layout:
        if (binding_count, push_bytes) in self._layouts:
            return self._layouts[binding_count, push_bytes]
        compute = vk.VK_SHADER_STAGE_COMPUTE_BIT
        bindings = [
            struct(
                "VkDescriptorSetLayoutBinding",
                binding=index,
                descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                descriptorCount=1,
                stageFlags=compute,
            )
            for index in range(binding_count)
        ]
        listed = array("VkDescriptorSetLayoutBinding", bindings)
        set_info = struct("VkDescriptorSetLayoutCreateInfo", bindingCount=binding_count, pBindings=listed)
        set_layout = self._functions.create("vkCreateDescriptorSetLayout", "VkDescriptorSetLayout", set_info)
        push = struct("VkPushConstantRange", stageFlags=compute, offset=0, size=push_bytes)
        info = struct(
            "VkPipelineLayoutCreateInfo",
            setLayoutCount=1,
            pSetLayouts=array("VkDescriptorSetLayout", [set_layout]),
            pushConstantRangeCount=1 if push_bytes else 0,
            pPushConstantRanges=push,
        )
        try:
            layout = Layout(set_layout, self._functions.create("vkCreatePipelineLayout", "VkPipelineLayout", info))
        except DeviceError:
            self._functions.vkDestroyDescriptorSetLayout(self._device.handle, set_layout, ffi.NULL)
            raise
        self._layouts[binding_count, push_bytes] = layout
        return layout

    def _new_cache(self, content: bytes) -> Any:
        data = ffi.from_buffer(content) if content else ffi.NULL
        info = struct("VkPipelineCacheCreateInfo", initialDataSize=len(content), pInitialData=data)
        try:
            return self._functions.create("vkCreatePipelineCache", "VkPipelineCache", info)
        except DeviceError:
            if not content:
                raise
        # A driver may refuse data of another driver: start empty.
        return self._new_cache(b"")


def _key(kernel: Kernel) -> Key:
    return kernel.glsl, kernel.constants, kernel.binding_count, kernel.push_bytes


def _specialization(constants: tuple[tuple[int, int], ...]) -> Any:
    if not constants:
        return ffi.NULL
    numbers = [key for key, _ in constants]
    entries = [struct("VkSpecializationMapEntry", constantID=key, offset=4 * index, size=4) for index, key in enumerate(numbers)]
    values = ffi.new("uint32_t[]", [value & 0xFFFFFFFF for _, value in constants])
    return struct(
        "VkSpecializationInfo",
        mapEntryCount=len(entries),
        pMapEntries=array("VkSpecializationMapEntry", entries),
        dataSize=4 * len(entries),
        pData=values,
    )


def _cache_path(device: Device) -> Path:
    info = device.info
    driver = hashlib.sha256(f"{info.vendor} {info.name} {info.driver}".encode()).hexdigest()[:16]
    return settings.current().cache_dir / "pipelines" / f"{info.uuid}-{driver}.bin"
