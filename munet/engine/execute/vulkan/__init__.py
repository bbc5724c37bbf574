"""Runs programs on a Vulkan device. Importing it needs no loader and no driver; opening a device does."""
