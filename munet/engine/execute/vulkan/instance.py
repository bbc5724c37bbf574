"""The Vulkan instance, with the validation layer and its messages when they are asked for."""

from __future__ import annotations

import logging
from typing import Any

from munet.engine import settings
from munet.engine.errors import DeviceUnavailable
from munet.engine.execute.vulkan.api import Functions, array, check, ffi, lib, listed, struct, text, vk

_log = logging.getLogger(__name__)

_VALIDATION_LAYER = "VK_LAYER_KHRONOS_validation"
_DEBUG = "VK_EXT_debug_utils"
_PORTABILITY = "VK_KHR_portability_enumeration"  # without it drivers over Metal stay hidden

# The first instance that was closed. The loader unloads a driver with its last instance, and NVIDIA's leaks static
# thread-local storage by that: about the 30th loading (580.159) fails, and there is no device any more.
_kept: list[Any] = []


class Instance:
    """Owns a VkInstance. `messages` collects what the validation layer says, as it says it."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.validating = False
        self._messenger: Any = None
        self._on_message: Any = None
        extensions = [name for name in (_PORTABILITY,) if name in _instance_extensions()]
        layers = self._debugging(extensions) if settings.current().validation else []
        self.functions = Functions(self._create(extensions, layers), lib.vkGetInstanceProcAddr)
        if self._on_message is not None:
            info = self._messenger_info()
            self._messenger = self.functions.create("vkCreateDebugUtilsMessengerEXT", "VkDebugUtilsMessengerEXT", info)

    @property
    def handle(self) -> Any:
        return self.functions.handle

    def physical_devices(self) -> list[Any]:
        """Handles in the driver's order."""
        return listed("VkPhysicalDevice", self.functions.vkEnumeratePhysicalDevices, self.handle)

    def close(self) -> None:
        """Frees it, unless it is the first: that one stays, so that drivers stay loaded until the process ends."""
        if self.handle is None:
            return
        if self._messenger is not None:
            self.functions.vkDestroyDebugUtilsMessengerEXT(self.handle, self._messenger, ffi.NULL)
        if _kept:
            self.functions.vkDestroyInstance(self.handle, ffi.NULL)
        else:
            _kept.append(self.handle)
        self.functions.handle = None

    def _create(self, extensions: list[str], layers: list[str]) -> Any:
        name = ffi.new("char[]", b"MuNet Studio")
        # What is asked for is the newest version used; a driver with less says so in its own apiVersion.
        application = struct("VkApplicationInfo", pApplicationName=name, pEngineName=name, apiVersion=vk.VK_MAKE_VERSION(1, 3, 0))
        extension_names, layer_names = _strings(extensions), _strings(layers)
        info = struct(
            "VkInstanceCreateInfo",
            pNext=self._messenger_info() if self._on_message is not None else ffi.NULL,
            flags=vk.VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR if _PORTABILITY in extensions else 0,
            pApplicationInfo=application,
            enabledExtensionCount=len(extensions),
            ppEnabledExtensionNames=extension_names,
            enabledLayerCount=len(layers),
            ppEnabledLayerNames=layer_names,
        )
        out = ffi.new("VkInstance *")
        result = lib.vkCreateInstance(info, ffi.NULL, out)
        if result == vk.VK_ERROR_INCOMPATIBLE_DRIVER:
            raise DeviceUnavailable("no Vulkan driver is installed", where="vkCreateInstance")
        check(result, "vkCreateInstance")
        return out[0]

    def _debugging(self, extensions: list[str]) -> list[str]:
        """Adds what validation needs to `extensions`; gives the layers to load."""
        layers = [text(layer.layerName) for layer in listed("VkLayerProperties", lib.vkEnumerateInstanceLayerProperties)]
        if _VALIDATION_LAYER not in layers:
            _log.warning("MUNET_VALIDATION is set, but %s is not installed (Debian: vulkan-validationlayers)", _VALIDATION_LAYER)
            return []
        extensions.append(_DEBUG)  # the layer itself provides it
        self.validating = True
        self._on_message = ffi.callback("PFN_vkDebugUtilsMessengerCallbackEXT", self._collect)
        return [_VALIDATION_LAYER]

    def _messenger_info(self) -> Any:
        return struct(
            "VkDebugUtilsMessengerCreateInfoEXT",
            messageSeverity=vk.VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | vk.VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
            messageType=vk.VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT | vk.VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
            pfnUserCallback=self._on_message,
        )

    def _collect(self, severity: int, kinds: int, data: Any, user_data: Any) -> int:
        message = text(data.pMessage)
        self.messages.append(message)
        _log.error("Vulkan validation: %s", message)
        return 0  # the call goes on


def _instance_extensions() -> set[str]:
    found = listed("VkExtensionProperties", lib.vkEnumerateInstanceExtensionProperties, ffi.NULL)
    return {text(extension.extensionName) for extension in found}


def _strings(names: list[str]) -> Any:
    return array("char *", [ffi.new("char[]", name.encode()) for name in names])
