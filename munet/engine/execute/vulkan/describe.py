"""Physical device in, DeviceInfo out: what it can do, what will be switched on, and remarks for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from munet.engine import settings
from munet.engine.device import DeviceInfo
from munet.engine.execute.vulkan.api import ffi, listed, struct, text, vk
from munet.engine.execute.vulkan.instance import Instance

_KINDS = {0: "other", 1: "integrated", 2: "discrete", 3: "virtual", 4: "cpu"}  # VkPhysicalDeviceType
_VENDORS = {0x1002: "AMD", 0x10DE: "NVIDIA", 0x8086: "Intel", 0x106B: "Apple", 0x13B5: "ARM", 0x5143: "Qualcomm", 0x10005: "Mesa"}
_SUBGROUP_OPS = ("basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative", "clustered", "quad")  # by bit
_BUDGET, _PORTABILITY_SUBSET = "VK_EXT_memory_budget", "VK_KHR_portability_subset"
_USEFUL_EXTENSIONS = (_BUDGET, _PORTABILITY_SUBSET, "VK_EXT_shader_atomic_float", "VK_KHR_cooperative_matrix")

_CORE, _V11, _V12, _V13 = (
    "VkPhysicalDeviceFeatures2",
    "VkPhysicalDeviceVulkan11Features",
    "VkPhysicalDeviceVulkan12Features",
    "VkPhysicalDeviceVulkan13Features",
)
_COOPERATIVE, _ATOMIC_FLOAT = "VkPhysicalDeviceCooperativeMatrixFeaturesKHR", "VkPhysicalDeviceShaderAtomicFloatFeaturesEXT"
# Where a struct of features may only be passed: its extension must be there (core versions are handled apart).
_NEEDS_EXTENSION = {_COOPERATIVE: "VK_KHR_cooperative_matrix", _ATOMIC_FLOAT: "VK_EXT_shader_atomic_float"}

FEATURES: dict[str, tuple[str, str]] = {  # our name: (struct, field)
    "shader_int16": (_CORE, "shaderInt16"),
    "shader_int64": (_CORE, "shaderInt64"),
    "shader_f64": (_CORE, "shaderFloat64"),
    "storage_16bit": (_V11, "storageBuffer16BitAccess"),
    "storage_8bit": (_V12, "storageBuffer8BitAccess"),
    "shader_f16": (_V12, "shaderFloat16"),
    "shader_int8": (_V12, "shaderInt8"),
    "scalar_block_layout": (_V12, "scalarBlockLayout"),
    "memory_model": (_V12, "vulkanMemoryModel"),
    "memory_model_device_scope": (_V12, "vulkanMemoryModelDeviceScope"),
    "timeline_semaphore": (_V12, "timelineSemaphore"),
    "subgroup_size_control": (_V13, "subgroupSizeControl"),
    "full_subgroups": (_V13, "computeFullSubgroups"),
    "integer_dot_product": (_V13, "shaderIntegerDotProduct"),
    "maintenance4": (_V13, "maintenance4"),  # SPIR-V 1.6 says a workgroup's size by constant as LocalSizeId, which needs it
    "cooperative_matrix": (_COOPERATIVE, "cooperativeMatrix"),
    "atomic_float_add": (_ATOMIC_FLOAT, "shaderBufferFloat32AtomicAdd"),
}
# Properties, so there is nothing to switch on: shaders may ask for them.
FLOAT_CONTROLS = {
    "subnormals_f32": "shaderDenormPreserveFloat32",
    "nonfinite_f32": "shaderSignedZeroInfNanPreserveFloat32",
}

Version = tuple[int, int, int]


# llvmpipe ends all loops of an invocation after so many turns in all (Mesa's LP_MAX_TGSI_LOOP_ITERATIONS), without a word.
_LLVMPIPE, _LLVMPIPE_LOOP_LIMIT = 13, 65535  # VK_DRIVER_ID_MESA_LLVMPIPE


@dataclass(frozen=True)
class QueueFamily:
    """The family that passes run on."""

    index: int
    timestamp_bits: int


def describe(instance: Instance, physical: Any, index: int = -1) -> DeviceInfo:
    """All that is known of a device; its `notes["unusable"]` says why it cannot run programs, if it cannot."""
    version11, version12 = struct("VkPhysicalDeviceVulkan11Properties"), struct("VkPhysicalDeviceVulkan12Properties")
    version11.pNext = version12
    all_properties = struct("VkPhysicalDeviceProperties2", pNext=version11)
    instance.functions.vkGetPhysicalDeviceProperties2(physical, all_properties)
    properties = all_properties.properties
    limits = properties.limits
    extensions = device_extensions(instance, physical)
    api_version = _version(properties.apiVersion)
    features = _features(instance, physical, api_version, extensions) | _float_controls(version12)
    family = queue_family(instance, physical)
    driver = " ".join(part for part in (text(version12.driverName), text(version12.driverInfo)) if part)
    memory, budget = _memory(instance, physical, _BUDGET in extensions)
    disabled = settings.current().disabled
    timestamps = family is not None and family.timestamp_bits and "timestamps" not in disabled
    return DeviceInfo(
        name=text(properties.deviceName),
        kind=_KINDS.get(properties.deviceType, "other"),
        index=index,
        vendor=_VENDORS.get(properties.vendorID, f"0x{properties.vendorID:04x}"),
        driver=driver or f"0x{properties.driverVersion:08x}",
        api_version=api_version,
        uuid=bytes(ffi.buffer(properties.pipelineCacheUUID)).hex(),
        storage_alignment=max(16, limits.minStorageBufferOffsetAlignment),
        max_storage_range=limits.maxStorageBufferRange,
        max_storage_buffers=min(limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers),
        max_workgroup_invocations=limits.maxComputeWorkGroupInvocations,
        max_workgroup_size=_triple(limits.maxComputeWorkGroupSize),
        max_workgroup_count=_triple(limits.maxComputeWorkGroupCount),
        shared_bytes=limits.maxComputeSharedMemorySize,
        push_bytes=limits.maxPushConstantsSize,
        loop_limit=_LLVMPIPE_LOOP_LIMIT if version12.driverID == _LLVMPIPE else 0,
        subgroup_size=version11.subgroupSize,
        subgroup_sizes=_subgroup_sizes(instance, physical, api_version, version11.subgroupSize),
        subgroup_ops=_subgroup_ops(version11),
        timestamp_period_ns=limits.timestampPeriod if timestamps else 0.0,
        memory_bytes=memory,
        budget_bytes=budget,
        features=features,
        extensions=extensions,
        notes=dict(_remarks(instance, api_version, features, family)),
    )


def device_extensions(instance: Instance, physical: Any) -> frozenset[str]:
    """The extensions that the engine switches on: useful, there, and not disabled by the settings."""
    found = listed("VkExtensionProperties", instance.functions.vkEnumerateDeviceExtensionProperties, physical, ffi.NULL)
    names = {text(extension.extensionName) for extension in found}
    return frozenset(names & set(_USEFUL_EXTENSIONS) - settings.current().disabled)


def feature_chain(api_version: Version, extensions: frozenset[str], enabled: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The feature structs this device knows, chained in order, with `enabled` set in them; the first one is to be passed."""
    chain: dict[str, Any] = {}
    for type_name in dict.fromkeys(owner for owner, _ in FEATURES.values()):
        if type_name == _V13 and api_version < (1, 3, 0):
            continue
        if type_name in _NEEDS_EXTENSION and _NEEDS_EXTENSION[type_name] not in extensions:
            continue
        made = struct(type_name)
        if chain:
            list(chain.values())[-1].pNext = made
        chain[type_name] = made
    for name in enabled & FEATURES.keys():
        owner, field = FEATURES[name]
        setattr(_fields(chain[owner], owner), field, 1)
    return chain


def queue_family(instance: Instance, physical: Any) -> QueueFamily | None:
    """A family with compute, better one without graphics: the display then keeps its own queue."""
    count = ffi.new("uint32_t *")
    instance.functions.vkGetPhysicalDeviceQueueFamilyProperties(physical, count, ffi.NULL)
    families = ffi.new("VkQueueFamilyProperties[]", count[0])
    instance.functions.vkGetPhysicalDeviceQueueFamilyProperties(physical, count, families)
    usable = [index for index in range(count[0]) if families[index].queueFlags & vk.VK_QUEUE_COMPUTE_BIT]
    if not usable:
        return None

    def rank(index: int) -> tuple[bool, bool]:
        family = families[index]
        return family.timestampValidBits == 0, bool(family.queueFlags & vk.VK_QUEUE_GRAPHICS_BIT)

    best = min(usable, key=rank)
    return QueueFamily(best, families[best].timestampValidBits)


def memory_budget(instance: Instance, physical: Any, heap: int) -> int:
    """Bytes that the driver would still give out of `heap` (VK_EXT_memory_budget must be there)."""
    budget = struct("VkPhysicalDeviceMemoryBudgetPropertiesEXT")
    instance.functions.vkGetPhysicalDeviceMemoryProperties2(physical, struct("VkPhysicalDeviceMemoryProperties2", pNext=budget))
    return max(0, budget.heapBudget[heap] - budget.heapUsage[heap])


def _features(instance: Instance, physical: Any, api_version: Version, extensions: frozenset[str]) -> frozenset[str]:
    if api_version < (1, 2, 0):
        return frozenset()
    chain = feature_chain(api_version, extensions)
    instance.functions.vkGetPhysicalDeviceFeatures2(physical, chain[_CORE])
    known = ((name, _fields(chain[owner], owner), field) for name, (owner, field) in FEATURES.items() if owner in chain)
    present = {name for name, made, field in known if getattr(made, field)}
    return frozenset(present - settings.current().disabled)


def _float_controls(version12: Any) -> frozenset[str]:
    present = {name for name, field in FLOAT_CONTROLS.items() if getattr(version12, field)}
    # Where the widths depend on each other, 16- and 64-bit floats would need the same mode: such a device goes without.
    if version12.denormBehaviorIndependence == vk.VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE:
        present.discard("subnormals_f32")
    return frozenset(present - settings.current().disabled)


def _subgroup_ops(version11: Any) -> tuple[str, ...]:
    if not version11.subgroupSupportedStages & vk.VK_SHADER_STAGE_COMPUTE_BIT:
        return ()
    present = (name for bit, name in enumerate(_SUBGROUP_OPS) if version11.subgroupSupportedOperations >> bit & 1)
    return tuple(name for name in present if f"subgroup_{name}" not in settings.current().disabled)


def _subgroup_sizes(instance: Instance, physical: Any, api_version: Version, usual: int) -> tuple[int, int]:
    if api_version < (1, 3, 0):
        return usual, usual
    version13 = struct("VkPhysicalDeviceVulkan13Properties")
    instance.functions.vkGetPhysicalDeviceProperties2(physical, struct("VkPhysicalDeviceProperties2", pNext=version13))
    return version13.minSubgroupSize, version13.maxSubgroupSize


def _fields(made: Any, type_name: str) -> Any:
    return made.features if type_name == _CORE else made


def _memory(instance: Instance, physical: Any, has_budget: bool) -> tuple[int, int]:
    """Size of the largest device-local heap, and what the driver says is free of it (0 = it does not say)."""
    properties = struct("VkPhysicalDeviceMemoryProperties")
    instance.functions.vkGetPhysicalDeviceMemoryProperties(physical, properties)
    heaps = properties.memoryHeaps
    local = [index for index in range(properties.memoryHeapCount) if heaps[index].flags & vk.VK_MEMORY_HEAP_DEVICE_LOCAL_BIT]
    size, index = max(((heaps[index].size, index) for index in local), default=(0, -1))
    return size, memory_budget(instance, physical, index) if has_budget and index >= 0 else 0


def _remarks(
    instance: Instance, api_version: Version, features: frozenset[str], family: QueueFamily | None
) -> Iterator[tuple[str, str]]:
    if api_version < (1, 2, 0):
        yield "unusable", f"it offers Vulkan {api_version[0]}.{api_version[1]}; 1.2 or newer is needed"
    elif family is None:
        yield "unusable", "it has no queue for compute"
    elif "timeline_semaphore" not in features:
        yield "unusable", "it lacks timeline semaphores"
    if settings.current().validation:
        yield "validation", "on; programs run slower" if instance.validating else "the validation layer is not installed"
    if disabled := settings.current().disabled:
        yield "disabled", f"MUNET_DISABLE hides {', '.join(sorted(disabled))}"


def _version(packed: int) -> Version:
    return packed >> 22 & 0x7F, packed >> 12 & 0x3FF, packed & 0xFFF


def _triple(values: Any) -> tuple[int, int, int]:
    return values[0], values[1], values[2]
