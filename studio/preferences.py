"""What the studio remembers between runs: one JSON file among the user's settings. A broken one is put aside."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import platformdirs

from munet import ProjectError, parse_json, read_file, write_file
from studio.texts import SURROGATE

MAX_RECENT = 12
MAX_PREVIEWED = 50  # projects
MAX_BYTES = 2**20
MOST_OF_WINDOW = (16384, 16384, 7680, 7680)  # pixels: x, y, width, height


@dataclass(frozen=True)
class Preferences:
    """All settings with their usual values."""

    device: str = "auto"
    ui_scale: float = 1.0  # 0.5 to 3
    language: str = "en"
    editor: str = ""  # command that opens a shader; "" = $EDITOR, else the built-in one
    color_mode: str = "category"
    snap: bool = False
    grid: float = 20.0  # canvas units
    show_minimap: bool = True
    show_shapes: bool = True
    autosave_every_s: float = 20.0
    idle_frames_per_s: float = 10.0
    follow_plots: bool = True
    smoothing: float = 0.6
    log_axis: bool = False
    keep_runs: bool = True  # write each run into a folder of its own
    runs_kept: float = 50.0  # of a project, the newest ones; those that are pinned besides; 0 = all
    checkpoint_every_s: float = 120.0  # on top of the project's own checkpoints; 0 = never
    recent: tuple[str, ...] = ()
    cjk_font: str = ""  # a font file with Chinese, Japanese and Korean letters; "" = the system's
    window: tuple[int, ...] = ()  # x, y, width, height of the window when it was closed
    folders: dict[str, str] = field(default_factory=dict)  # purpose of a file dialog -> the folder that was used last
    blocks_folder: str = ""  # saved blocks; "" = beside this file
    look_every_s: float = 1.0  # previews while training; less often where that would take more than a few percent of its time
    previews: dict[str, str] = field(default_factory=dict)  # project file -> nodes that show a preview, a JSON list
    keys: dict[str, str] = field(default_factory=dict)  # action -> shortcut, where it differs from `keys.py`

    def previews_of(self, path: Path | None) -> frozenset[str]:
        """Paths of the nodes of a project that show a preview below them."""
        try:
            known = parse_json(self.previews.get(_name_of(path), "[]").encode())
        except ProjectError:
            known = []
        return frozenset(name for name in known if isinstance(name, str)) if isinstance(known, list) else frozenset()

    def with_previews(self, path: Path | None, nodes: frozenset[str]) -> Preferences:
        """These nodes and no others; a project without a file is not remembered. Only so many projects are."""
        if path is None or not is_fit(_name_of(path)):
            return self
        others = {name: value for name, value in self.previews.items() if name != _name_of(path)}
        kept = dict(list(others.items())[-MAX_PREVIEWED:])
        return replace(self, previews=kept | ({_name_of(path): json.dumps(sorted(nodes))} if nodes else {}))

    def opened(self, path: Path) -> Preferences:
        """With a project at the head of the recent ones. A name that is no Unicode cannot be written, and is not remembered."""
        name = _name_of(path)
        if not is_fit(name):
            return self
        return replace(self, recent=(name, *(other for other in self.recent if other != name))[:MAX_RECENT])


LIMITS: dict[str, tuple[float, float]] = {
    "ui_scale": (0.5, 3.0),
    "grid": (1.0, 200.0),
    "look_every_s": (0.1, 60.0),
    "autosave_every_s": (1.0, 3600.0),
    "idle_frames_per_s": (1.0, 60.0),
    "smoothing": (0.0, 0.999),
    "checkpoint_every_s": (0.0, 86400.0),
    "runs_kept": (0.0, 100000.0),
}


def _name_of(path: Path | None) -> str:
    return str(path.resolve()) if path is not None else ""


def is_fit(words: str) -> bool:
    """Whether a text can be written, shown and be part of a path: without zero characters, and without halves of surrogate pairs,
    which names of files have that are no Unicode."""
    return "\0" not in words and not SURROGATE.search(words)


def preferences_file() -> Path:
    return Path(platformdirs.user_config_dir("munet-studio", appauthor=False)) / "studio.json"


def load(path: Path | None = None) -> Preferences:
    """The preferences; usual values for what is missing or unfit. A file that is no JSON object is renamed to *.broken."""
    path = path or preferences_file()
    try:
        content = read_file(path, MAX_BYTES)
    except ProjectError:
        return Preferences()
    try:
        known = parse_json(content, str(path))
    except ProjectError:
        known = None
    if not isinstance(known, dict):
        with contextlib.suppress(OSError):
            path.replace(path.with_name(path.name + ".broken"))
        return Preferences()
    usual = Preferences()
    fit = {f.name: _fit(f.name, known[f.name], getattr(usual, f.name)) for f in fields(Preferences) if f.name in known}
    return replace(usual, **{name: value for name, value in fit.items() if value is not None})


def save(preferences: Preferences, path: Path | None = None) -> None:
    """Raises ProjectError when the file cannot be written; the studio goes on without."""
    path = path or preferences_file()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, (json.dumps(asdict(preferences), indent=2, ensure_ascii=False) + "\n").encode())


def _fit(name: str, value: Any, usual: Any) -> Any:
    """The value as the type of the usual one, within its limits; None if it does not fit."""
    if isinstance(usual, bool):
        return value if isinstance(value, bool) else None
    if isinstance(usual, float):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        low, high = LIMITS.get(name, (value, value))
        return float(min(max(value, low), high)) if value == value else None
    if name == "window":
        fits = isinstance(value, list) and len(value) == 4 and all(type(item) is int for item in value)
        return tuple(min(max(item, 0), most) for item, most in zip(value, MOST_OF_WINDOW, strict=True)) if fits else None
    if isinstance(usual, tuple):
        texts = [item for item in value if _is_text(item)] if isinstance(value, list) else []
        return tuple(texts[:MAX_RECENT])
    if isinstance(usual, dict):
        return {k: v for k, v in value.items() if is_fit(k) and _is_text(v)} if isinstance(value, dict) else None
    return value if _is_text(value) else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and is_fit(value)
