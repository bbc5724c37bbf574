"""Own nodes: the Python files named in MUNET_NODES are imported with `munet`, so that command and studio know them."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from munet.engine import settings
from munet.engine.errors import DeclarationError, MunetError


def load_own_nodes() -> None:
    """Import what MUNET_NODES names: files, and folders for all files in them but those starting with "_".

    Raises DeclarationError that names the file.
    """
    for place in settings.current().nodes:
        for file in _files(place):
            _load(file)


def _files(place: str) -> list[Path]:
    path = Path(place).expanduser().resolve()
    if path.is_dir():
        return sorted(file for file in path.glob("*.py") if not file.name.startswith("_"))
    if not path.is_file():
        raise DeclarationError(
            f"MUNET_NODES: there is no file or folder {path}; it lists Python files or folders, separated by {os.pathsep!r}"
        )
    return [path]


def _load(file: Path) -> None:
    name = f"munet_nodes_{file.stem}"
    known = sys.modules.get(name)
    if known is not None and known.__file__ == str(file):
        return  # imported before: named twice, or as a file and in its folder
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise DeclarationError(f"MUNET_NODES: {file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except MunetError:
        sys.modules.pop(name, None)
        raise
    except Exception as error:  # the file is the user's: anything may happen in it
        sys.modules.pop(name, None)
        raise DeclarationError(f"MUNET_NODES: {file}: {type(error).__name__}: {error}") from error
