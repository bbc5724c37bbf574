"""Editing shaders without a window: where the cursor is, drafts, files that others change, editors, texts that are no UTF-8."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from munet import shaders
from munet.shaders import Mark
from studio.caret import Caret, caret_after, changed, moved_lines
from studio.drafts import CHECK_AFTER_S, Drafts, changed_elsewhere
from studio.editors import NoEditor, Opened, editor_command

LINES = ["void main() {", "", "    x = 1;", "}"]
TEXTS = st.text(alphabet="ab\n", max_size=12)


@given(before=TEXTS, after=TEXTS)
def test_what_has_changed_is_all_that_has(before: str, after: str):
    start, old_end, new_end = changed(before, after)
    assert before[:start] + after[start:new_end] + before[old_end:] == after
    caret = caret_after(before, after)
    assert caret == caret.within(after.split("\n"))


@given(
    lines=st.lists(st.sampled_from("abc"), min_size=1, max_size=6),
    at=st.integers(0, 6),
    more=st.lists(st.just("new"), min_size=1),
)
def test_marks_move_with_their_lines(lines: list[str], at: int, more: list[str]):
    at = min(at, len(lines))
    after = [*lines[:at], *more, *lines[at:]]
    numbers = range(1, len(lines) + 1)
    moved = moved_lines(numbers, "\n".join(lines), "\n".join(after))
    # Of equal neighbours nobody can say which one is new: the text at the line is what counts.
    assert [after[number - 1] for number in moved[:at]] == lines[:at]
    if at < len(lines):
        assert [after[number - 1] for number in moved[at:]] == lines[at:]
    back = moved_lines(moved, "\n".join(after), "\n".join(lines))
    assert len(back) == len(lines) and max(back) <= len(lines)


def test_the_cursor_is_where_something_was_typed_or_taken_away():
    assert caret_after("ab\ncd", "ab\nxcd") == Caret(1, 1)
    assert caret_after("ab\ncd", "abcd") == Caret(0, 2)
    assert caret_after("", "one\ntwo") == Caret(1, 3)


@pytest.mark.parametrize(
    ("key", "control", "expected"),
    [
        ("Down", False, Caret(1, 0)), ("Up", False, Caret(0, 9)), ("Right", False, Caret(0, 10)), ("Left", False, Caret(0, 8)),
        ("Home", False, Caret(0, 0)), ("End", False, Caret(0, 13)), ("End", True, Caret(3, 1)), ("PageDown", False, Caret(3, 1)),
        ("Home", True, Caret(0, 0)),
    ],
)  # fmt: skip
def test_keys_move_the_cursor(key: str, control: bool, expected: Caret):
    assert Caret(0, 9).moved(key, LINES, control) == expected


def test_the_cursor_goes_over_the_ends_of_lines_and_stays_in_the_text():
    assert Caret(0, 13).moved("Right", LINES) == Caret(1, 0)
    assert Caret(1, 0).moved("Left", LINES) == Caret(0, 13)
    assert Caret(3, 1).moved("Right", LINES) == Caret(3, 1)
    assert Caret(9, 9).moved("Left", LINES) == Caret(3, 0)


# -- drafts ------------------------------------------------------------------------------------------------------------


def test_a_draft_is_checked_after_a_rest_and_its_faults_move_with_their_lines(tmp_path: Path):
    drafts, path = Drafts(), tmp_path / "mine.comp"
    drafts.type(path, "contraction", "a\nx\n", "a\nb\n", (), 10.0)
    assert drafts.waiting and drafts.due(10.0) == []
    ((_, draft),) = drafts.due(10.01 + CHECK_AFTER_S)
    assert draft.content == "a\nx\n" and not drafts.waiting
    assert not drafts.hear(path, "another", (Mark(1, "old"),))
    assert drafts.hear(path, "a\nx\n", (Mark(2, "wrong"),))
    made = drafts.type(path, "contraction", "\na\nx\n", "a\nb\n", (), 11.0)
    assert made.marks == (Mark(3, "wrong"),) and made.base == "a\nb\n" and drafts.waiting


def write_text(path: Path, content: str) -> None:
    path.write_text(content)


def test_a_draft_is_saved_only_over_the_file_that_it_began_with(tmp_path: Path):
    drafts = Drafts()
    mine, other = tmp_path / "mine.comp", tmp_path / "other.comp"
    mine.write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")  # the same text, however its lines end
    other.write_text("changed\n")
    for path in (mine, other):
        drafts.type(path, "contraction", "a\nb\nc", "a\nb\n", (), 0.0)
    assert drafts.save_all(write_text) == [other]
    assert mine.read_text() == "a\nb\nc\n" and other.read_text() == "changed\n"
    assert mine not in drafts and other in drafts
    drafts.drop(other, "a\nb\n")  # what was saved is not all that has been typed
    assert other in drafts
    drafts.drop(other, "a\nb\nc\n")
    assert other not in drafts
    assert not changed_elsewhere(tmp_path / "gone.comp", "a", "b")


# -- a person's own editor ---------------------------------------------------------------------------------------------


def test_an_editor_of_the_terminal_gets_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in ("vim", "code", "xterm"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    file = Path("/x/mine.comp")
    assert editor_command("code --wait", file) == ["code", "--wait", "/x/mine.comp"]
    assert editor_command("vim", file) == ["xterm", "-e", "vim", "/x/mine.comp"]
    (tmp_path / "xterm").unlink()
    for chosen, why in (
        ("", "No editor is set"), ("missing -w", "The editor missing was not found"), ("code 'x", "cannot be read: code 'x"),
        ("vim", "vim runs in a terminal, and no terminal was found"),
    ):  # fmt: skip
        with pytest.raises(NoEditor, match=why):
            editor_command(chosen, file)


@pytest.mark.parametrize(("program", "expected"), [
    ("pass", ""), ("import sys; sys.exit('no display')", "failed: no display"), ("import os; os._exit(3)", "exit code 3"),
])  # fmt: skip
def test_an_editor_that_ends_badly_says_why(program: str, expected: str):
    opened = Opened([sys.executable, "-c", program])
    end = time.monotonic() + 20
    while (said := opened.poll()) is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert said.endswith(expected) and bool(said) == bool(expected)


def test_an_editor_that_cannot_be_started_says_why(tmp_path: Path):
    (tmp_path / "editor").write_text("no program\n")
    (tmp_path / "editor").chmod(0o644)
    with pytest.raises(NoEditor, match="editor failed: Permission denied"):
        Opened([str(tmp_path / "editor")])


# -- texts -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("MUNET_SHADERS", str(tmp_path))
    return shaders.new_variant("contraction", "generic", "mine")


def found(path: Path) -> shaders.VariantView:
    view = shaders.assets("cpu")[0].variant(path.stem)
    assert view is not None
    return view


def test_a_text_is_checked_without_a_file(mine: Path):
    good = mine.read_text()
    assert shaders.check_text("contraction", "mine", good) == ()
    (mark,) = shaders.check_text("contraction", "mine", good.replace("float sum = 0.0", "float sum = nothing"))
    assert mark.line == 1 + good[: good.index("float sum")].count("\n") and "nothing" in mark.message
    assert shaders.check_text("contraction", "tiled", good)[0].message.startswith("contraction is shipped with a variant")
    assert mine.read_text() == good and found(mine).marks == ()


@pytest.mark.parametrize("change", [
    lambda content: b"\xef\xbb\xbf" + content, lambda content: content.replace(b"\n", b"\r\n"),
    lambda content: b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"),
], ids=["mark", "crlf", "both"])  # fmt: skip
def test_byte_order_marks_and_line_ends_of_other_systems_are_no_fault(mine: Path, change):
    good = mine.read_text()
    mine.write_bytes(change(mine.read_bytes()))
    view = found(mine)
    assert view.marks == () and view.source == good and view.readable


def test_what_is_no_text_is_told_at_its_line_and_can_still_be_looked_at(mine: Path):
    good = mine.read_bytes()
    found(mine)
    for content, message in (
        (good.replace(b"float sum", b"fl\xe4t sum"), "is no UTF-8 text: byte 0xe4."),
        (good + b"\0", "byte 0x00."),
    ):
        mine.write_bytes(content)
        view = found(mine)
        assert view.verdict == shaders.BROKEN and view.kept and not view.readable
        assert message in view.marks[0].message and "void main" in view.source
    assert view.marks[0].line == 1 + good.count(b"\n")
