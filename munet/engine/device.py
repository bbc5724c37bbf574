"""DeviceInfo: what a device can do, as plain data. No Vulkan here, so plans can be made for a device that is not present."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class DeviceInfo:
    """What transforms, planning and code generation look at. The defaults are Vulkan's guaranteed minima."""

    name: str = "baseline"
    kind: str = "other"  # "discrete", "integrated", "virtual", "cpu", "other"; "reference" = the NumPy executor
    index: int = -1  # the N of "vulkan:N"; -1 = not a Vulkan device
    vendor: str = ""
    driver: str = ""  # name and version, for caches and reports
    api_version: tuple[int, int, int] = (1, 2, 0)
    uuid: str = ""  # driver's pipelineCacheUUID: caches are keyed by it

    storage_alignment: int = 256  # minStorageBufferOffsetAlignment, bytes
    max_storage_range: int = 134_217_728  # largest range of one storage-buffer binding, bytes
    max_storage_buffers: int = 4  # per stage
    max_workgroup_invocations: int = 128
    max_workgroup_size: tuple[int, int, int] = (128, 128, 64)
    max_workgroup_count: tuple[int, int, int] = (65535, 65535, 65535)
    shared_bytes: int = 16384
    push_bytes: int = 128
    loop_limit: int = 0  # turns of all loops of an invocation after which the driver silently stops it; 0 = none
    subgroup_size: int = 1
    subgroup_sizes: tuple[int, int] = (1, 1)  # the smallest and the largest that a shader may ask for
    subgroup_ops: tuple[str, ...] = ()  # e.g. ("basic", "arithmetic")
    timestamp_period_ns: float = 0.0  # 0 = no timestamps
    memory_bytes: int = 0  # largest device-local heap
    budget_bytes: int = 0  # what the driver says is free now; 0 = it does not say

    features: frozenset[str] = frozenset()  # e.g. "storage_8bit", "storage_16bit", "shader_f16", "cooperative_matrix"
    extensions: frozenset[str] = frozenset()
    notes: Mapping[str, str] = field(default_factory=dict)  # remarks for people, e.g. why a CPU driver was taken

    @property
    def is_cpu(self) -> bool:
        """A Vulkan driver that runs on the CPU (lavapipe), or the NumPy executor."""
        return self.kind in ("cpu", "reference")


REFERENCE = DeviceInfo(
    name="NumPy reference",
    kind="reference",
    max_storage_buffers=32,
    max_workgroup_invocations=1024,
    storage_alignment=16,
    features=frozenset({"storage_8bit"}),
)
