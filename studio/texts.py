"""All texts of the studio, by key. A translation is a table with the same keys; what it lacks stays English."""

from __future__ import annotations

from collections.abc import Mapping

ENGLISH: Mapping[str, str] = {
    # labels of undo
    "add_node": "Add {name}",
    "delete_one": 'Delete "{name}"',
    "delete_many": "Delete {count} items",
    "move_one": 'Move "{name}"',
    "move_many": "Move {count} items",
    "place": "Move nodes",
    "align": "Align nodes",
    "distribute": "Distribute nodes",
    "snap": "Snap to grid",
    "layout": "Arrange automatically",
    "rename": 'Rename to "{name}"',
    "connect": 'Connect "{source}" to "{target}"',
    "disconnect": "Remove {count} wires",
    "cut_wires": "Cut wires",
    "set_param": "Set {name} of {node}",
    "set_muted": "Mute or unmute",
    "set_frozen": "Freeze or thaw",
    "set_note": "Edit note",
    "set_project": "Edit project settings",
    "add_frame": "Add frame",
    "edit_frame": "Edit frame",
    "paste": "Paste",
    "cut": "Cut",
    "duplicate": "Duplicate",
    "insert": "Insert {name}",
    "collapse": 'Collapse into "{name}"',
    "expand": 'Expand "{name}"',
    "promote": "Give out {name}",
    "delete_subgraph": 'Delete subgraph "{name}"',
    "adapt": "Add {name} to fit",
    # actions of menus, palette of commands and keys
    "action.new": "New project",
    "action.open": "Open...",
    "action.save": "Save",
    "action.save_as": "Save as...",
    "action.export_python": "Export as Python...",
    "action.export_weights": "Export weights...",
    "action.export_png": "Export canvas as PNG...",
    "action.quit": "Quit",
    "action.undo": "Undo",
    "action.redo": "Redo",
    "action.cut": "Cut",
    "action.copy": "Copy",
    "action.paste": "Paste",
    "action.duplicate": "Duplicate",
    "action.duplicate_wired": "Duplicate with inputs",
    "action.delete": "Delete",
    "action.delete_bridged": "Delete and reconnect",
    "action.select_all": "Select all",
    "action.rename": "Rename",
    "action.mute": "Mute or bypass",
    "action.freeze": "Freeze parameters",
    "action.frame": "Frame around selection",
    "action.collapse": "Collapse into subgraph",
    "action.expand": "Expand subgraph",
    "action.enter": "Enter subgraph",
    "action.leave": "Leave subgraph",
    "action.add": "Add node...",
    "action.commands": "Commands...",
    "action.help": "Keyboard map",
    "action.fit_all": "Show all",
    "action.fit_selection": "Show selection",
    "action.zoom_in": "Zoom in",
    "action.zoom_out": "Zoom out",
    "action.zoom_reset": "Zoom 100 %",
    "action.minimap": "Minimap",
    "action.layout": "Arrange automatically",
    "action.align_left": "Align left",
    "action.align_right": "Align right",
    "action.align_top": "Align top",
    "action.align_bottom": "Align bottom",
    "action.align_center": "Align centres",
    "action.distribute_x": "Distribute across",
    "action.distribute_y": "Distribute down",
    "action.snap": "Snap to grid",
    "action.run": "Run",
    "action.pause": "Pause",
    "action.step": "Step",
    "action.stop": "Stop",
    "action.reset": "Reset",
    "action.checkpoint": "Save checkpoint",
    "action.next_problem": "Next problem",
    "action.cancel": "Cancel",
    # groups of the keyboard map
    "group.file": "File",
    "group.edit": "Edit",
    "group.view": "View",
    "group.arrange": "Arrange",
    "group.train": "Train",
    # refused wires
    "wire.same_side": "A wire leads from an output to an input.",
    "wire.self": "A node cannot read its own result.",
    "wire.cycle": 'This would be a cycle: "{target}" leads to "{source}" already.',
    "wire.dtype": "{source} is {found}; {target} takes {expected}.",
    "wire.rank": "{source} has {found} axes; {target} has the axes {expected}.",
    "wire.unknown": "There is no such socket.",
    "cure.cast": "Add a cast to {dtype}",
    "cure.flatten": "Add flatten",
    "cure.reshape": "Add a reshape to {shape}",
    "cure.unsqueeze": "Add an axis",
    "cure.squeeze": "Remove an axis",
    "cure.transpose": "Add a transpose",
    "cure.normalise": "Add Normalise: 0 to 1 as f32",
    "cure.linear": "Add Linear with {count} features",
    "cure.loss": "Add {name} as the loss",
    "cure.mean": "Take the mean",
    # jobs
    "job.idle": "No project is open.",
    "job.opening": "Opening the device...",
    "job.compiling": "Compiling...",
    "job.ready": "Ready",
    "job.running": "Training",
    "job.paused": "Paused",
    "job.finished": "Finished",
    "job.failed": "Stopped by an error",
    "job.unexpected": "An unexpected error: {error}",
}

_current: Mapping[str, str] = ENGLISH


def text(key: str, **values: object) -> str:
    """The text with its values filled in. An unknown key is shown as it is, so that a slip is seen and nothing breaks."""
    template = _current.get(key) or ENGLISH.get(key, key)
    return template.format(**values) if values else template


def use(table: Mapping[str, str]) -> None:
    """Texts of another language from now on; raises ValueError naming keys that there are not."""
    unknown = sorted(set(table) - set(ENGLISH))
    if unknown:
        raise ValueError(f"unknown keys: {', '.join(unknown)}")
    global _current
    _current = {**ENGLISH, **table}
