"""What was typed into files and is not saved yet; and whether such a file has become another one in the meantime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from munet.shaders import Mark
from studio.caret import moved_lines

CHECK_AFTER_S = 0.35  # of rest: a text is not compiled at each letter


@dataclass(frozen=True)
class Draft:
    """`base` is what the file held when typing began. `marks` are faults of the text: those found last, moved along since."""

    asset: str
    content: str
    base: str
    marks: tuple[Mark, ...] = ()
    typed_at: float = 0.0
    asked: bool = False  # whether faults of just this text are being looked for, or known

    def typed(self, content: str, now: float) -> Draft:
        """After a change."""
        lines = moved_lines([mark.line for mark in self.marks], self.content, content)
        moved = tuple(replace(mark, line=line) for mark, line in zip(self.marks, lines, strict=True))
        return replace(self, content=content, marks=moved, typed_at=now, asked=False)


class Drafts:
    """By file."""

    def __init__(self) -> None:
        self._drafts: dict[Path, Draft] = {}

    def __contains__(self, path: object) -> bool:
        return path in self._drafts

    def __iter__(self):
        return iter(tuple(self._drafts.items()))

    def __len__(self) -> int:
        return len(self._drafts)

    def get(self, path: Path) -> Draft | None:
        return self._drafts.get(path)

    def type(self, path: Path, asset: str, content: str, source: str, marks: Sequence[Mark], now: float) -> Draft:
        """Take in what a file's text has become; `source`, `marks`: of the file as it is now."""
        draft = self._drafts.get(path) or Draft(asset, source, source, tuple(marks))
        made = self._drafts[path] = draft.typed(content, now)
        return made

    def drop(self, path: Path, content: str | None = None) -> None:
        """It is saved, or not wanted any more. `content`: what was saved; what has been typed since then stays."""
        draft = self._drafts.get(path)
        if draft is None:
            return
        if content is None or ended(draft.content) == content:
            del self._drafts[path]
        else:
            self._drafts[path] = replace(draft, base=content)

    def due(self, now: float) -> list[tuple[Path, Draft]]:
        """Texts whose faults are to be looked for now."""
        found = [(path, draft) for path, draft in self if not draft.asked and now - draft.typed_at >= CHECK_AFTER_S]
        for path, draft in found:
            self._drafts[path] = replace(draft, asked=True)
        return found

    @property
    def waiting(self) -> bool:
        """Whether something will be due."""
        return any(not draft.asked for draft in self._drafts.values())

    def hear(self, path: Path, content: str, marks: Sequence[Mark]) -> bool:
        """Faults of a text; False if it is another one by now."""
        draft = self._drafts.get(path)
        if draft is None or draft.content != content:
            return False
        self._drafts[path] = replace(draft, marks=tuple(marks), asked=True)
        return True

    def save_all(self, write: Callable[[Path, str], None]) -> list[Path]:
        """Write those whose files are as they were; the others are given back. What `write` raises comes out of it."""
        kept: list[Path] = []
        for path, draft in self:
            if changed_elsewhere(path, draft.base, draft.content):
                kept.append(path)
            else:
                write(path, ended(draft.content))
                del self._drafts[path]
        return kept


def ended(content: str) -> str:
    """With a new line at its end, as files have it."""
    return content if content.endswith("\n") else f"{content}\n"


def changed_elsewhere(path: Path, base: str, content: str) -> bool:
    """Whether a file that should still hold `base` holds something else, which is not `content` either; not one that is gone."""
    try:
        found = path.read_bytes().decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    except OSError:
        return False
    return found not in (base, ended(base), ended(content))
