"""Where the cursor of an input field is, found out from what happens to it: Dear PyGui does not tell.

A change of the text and a click say it exactly; keys that move the cursor are followed as the field follows them, and where that
goes wrong, as among words, the next change puts it right. It is used to bring the cursor's line into sight, nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOVES = ("Left", "Right", "Up", "Down", "Home", "End", "PageUp", "PageDown")


@dataclass(frozen=True)
class Caret:
    """Line and column, both from 0."""

    line: int = 0
    column: int = 0

    def within(self, lines: Sequence[str]) -> Caret:
        """The same place, or the nearest that the text has."""
        line = min(max(self.line, 0), max(len(lines) - 1, 0))
        return Caret(line, min(max(self.column, 0), len(lines[line]) if lines else 0))

    def moved(self, key: str, lines: Sequence[str], control: bool = False) -> Caret:
        """After a key of MOVES. The field is as high as its text, so that a page is all of it."""
        at = self.within(lines)
        last = max(len(lines) - 1, 0)
        match key:
            case "Up" | "Down":
                return Caret(at.line + (1 if key == "Down" else -1), self.column).within(lines)
            case "Home" | "End":
                line = (0 if key == "Home" else last) if control else at.line
                return Caret(line, 0 if key == "Home" else len(lines[line]))
            case "PageUp" | "PageDown":
                return Caret(0 if key == "PageUp" else last, self.column).within(lines)
            case "Left" if at.column == 0 and at.line > 0:
                return Caret(at.line - 1, len(lines[at.line - 1]))
            case "Right" if at.column == len(lines[at.line]) and at.line < last:
                return Caret(at.line + 1, 0)
            case "Left" | "Right":
                return Caret(at.line, at.column + (1 if key == "Right" else -1)).within(lines)
            case _:
                return at


def changed(before: str, after: str) -> tuple[int, int, int]:
    """What of a text has changed: letters before it that stayed, and where it ends in the old and in the new text."""
    limit = min(len(before), len(after))
    start = next((i for i in range(limit) if before[i] != after[i]), limit)
    tail = next((i for i in range(limit - start) if before[-1 - i] != after[-1 - i]), limit - start)
    return start, len(before) - tail, len(after) - tail


def caret_after(before: str, after: str) -> Caret:
    """The cursor stands behind what was put in, or where something was taken away."""
    head = after[: changed(before, after)[2]]
    return Caret(head.count("\n"), len(head) - head.rfind("\n") - 1)


def moved_lines(lines: Sequence[int], before: str, after: str) -> tuple[int, ...]:
    """Line numbers, from 1, of a text after a change: those behind it move along, those within it stand at its first line."""
    start, old_end, new_end = changed(before, after)
    first, old_last, new_last = (
        1 + text.count("\n", 0, end) for text, end in ((before, start), (before, old_end), (after, new_end))
    )
    # A line that was split at its very beginning moves on as a whole.
    whole = start == 0 or before[start - 1 : start] == "\n"

    def moved(line: int) -> int:
        if line > old_last or (line == old_last and line > first) or (line == first == old_last and whole and old_end == start):
            return line + new_last - old_last
        return min(line, first)

    return tuple(map(moved, lines))
