"""Going round by a key."""

from __future__ import annotations

from studio.cycle import after


def test_lists_are_gone_through_round_and_round():
    assert [after(name, "abc") for name in "abc"] == ["b", "c", "a"]
    assert [after(name, "abc", -1) for name in "abc"] == ["c", "a", "b"]


def test_from_outside_one_begins_at_an_end():
    assert (after("x", "abc"), after("x", "abc", -1)) == ("a", "c")
