"""Environment variables: one table, read here and nowhere else; `munet devices` lists it.

Values are read at each call of `current()`, so a test may change the environment and see the effect at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs


@dataclass(frozen=True)
class Variable:
    """One environment variable: its name, what it does, and what holds while it is unset."""

    name: str
    doc: str
    default: str


TABLE = (
    Variable("MUNET_CACHE_DIR", "folder for compiled shaders, pipelines, data sets and tuned times", "the user's cache folder"),
    Variable("MUNET_GLSLANG", "a glslangValidator binary, used where the glslang libraries cannot be loaded", "searched on PATH"),
    Variable("MUNET_VALIDATION", "1 = run Vulkan's validation layer, log what it says, and label passes for debuggers", "0"),
    Variable("MUNET_DISABLE", "device features or extensions to pretend missing, separated by commas", "none"),
    Variable("MUNET_NODES", f"Python files or folders with own nodes, separated by {os.pathsep!r}; imported at start", "none"),
    Variable("MUNET_SHADERS", "folder with own shader variants, ASSET/NAME.comp", "shaders in the user's settings folder"),
    Variable("MUNET_VULKAN_LIBRARY", "path of the Vulkan loader, where the system would not find it by name", "found by name"),
)


@dataclass(frozen=True)
class Settings:
    """The variables' values, parsed."""

    cache_dir: Path
    glslang: str
    validation: bool
    disabled: frozenset[str]
    vulkan_library: str
    nodes: tuple[str, ...] = ()  # files and folders with own nodes
    shaders_dir: Path = Path()  # of own shader variants


def current() -> Settings:
    """The settings as the environment has them now."""
    cache_dir = _value("MUNET_CACHE_DIR")
    config_dir = Path(platformdirs.user_config_dir("munet-studio", appauthor=False))
    disabled = (name.strip() for name in _value("MUNET_DISABLE").split(","))
    return Settings(
        cache_dir=Path(cache_dir or platformdirs.user_cache_dir("munet-studio", appauthor=False)).expanduser(),
        glslang=_value("MUNET_GLSLANG"),
        validation=_value("MUNET_VALIDATION").lower() in ("1", "true", "yes", "on"),
        disabled=frozenset(name for name in disabled if name),
        vulkan_library=_value("MUNET_VULKAN_LIBRARY"),
        nodes=tuple(place.strip() for place in _value("MUNET_NODES").split(os.pathsep) if place.strip()),
        shaders_dir=Path(_value("MUNET_SHADERS") or config_dir / "shaders").expanduser(),
    )


def describe() -> Iterator[tuple[Variable, str]]:
    """Each variable with its value, "" while it is unset: for listings."""
    for variable in TABLE:
        yield variable, _value(variable.name)


def search_path() -> str:
    """PATH, for looking up external tools."""
    return os.environ.get("PATH", os.defpath)


def text_editor() -> str:
    """The command that the person's environment names for editing texts; "" for none."""
    return _value("VISUAL") or _value("EDITOR")


def has_display() -> bool:
    """Whether a window can be shown: elsewhere than on Linux always, there where DISPLAY names an X server."""
    return not sys.platform.startswith("linux") or bool(_value("DISPLAY"))


def _value(name: str) -> str:
    return os.environ.get(name, "").strip()
