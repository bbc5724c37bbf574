"""Where the files lie that the engine ships beside its code: assets/shaders in a checkout, munet/_assets in a wheel."""

from __future__ import annotations

from pathlib import Path

from munet.engine.errors import ShaderError

_PACKAGE = Path(__file__).resolve().parents[1]


def shaders_root() -> Path:
    """The folder of shader assets; its `include` holds what `#include` finds. Raises ShaderError if it is missing."""
    for folder in (_PACKAGE / "_assets" / "shaders", _PACKAGE.parent / "assets" / "shaders"):
        if folder.is_dir():
            return folder
    raise ShaderError(f"the shader assets are missing beside {_PACKAGE}; reinstall munet-studio")


def bundled_projects() -> list[str]:
    """The names of all shipped projects."""
    folders = (_PACKAGE / "_assets" / "projects", _PACKAGE.parent / "projects")
    return sorted({file.stem for folder in folders for file in folder.glob("*.json")})


def bundled_project(name: str) -> Path | None:
    """The shipped project called `name`, "xor", "xor.json" or "projects/xor.json"; None if there is none."""
    parts = Path(name).parts
    if not parts or parts[:-1] not in ((), ("projects",)):
        return None
    file = parts[-1] if parts[-1].endswith(".json") else f"{parts[-1]}.json"
    for folder in (_PACKAGE / "_assets" / "projects", _PACKAGE.parent / "projects"):
        if (folder / file).is_file():
            return folder / file
    return None
