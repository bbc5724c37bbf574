"""The window sleeps only after some time and some frames in which nothing happened."""

from __future__ import annotations

from itertools import count

from studio.waking import AWAKE_FRAMES, AWAKE_S, Waking


def test_it_stays_awake_for_a_time_and_for_some_frames():
    waking = Waking()
    assert waking.is_awake("opened", False, 1.0)
    assert all(waking.is_awake("opened", False, 1.0 + AWAKE_S / 2) for _ in range(2 * AWAKE_FRAMES)), "the time is not over"
    assert not waking.is_awake("opened", False, 1.0 + AWAKE_S)


def test_slow_frames_are_drawn_all_the_same():
    waking, clock = Waking(), count(1)
    assert waking.is_awake("a dialog", False, next(clock))
    frames = next(n for n in count() if not waking.is_awake("a dialog", False, next(clock)))
    assert frames == AWAKE_FRAMES - 1


def test_what_is_awaited_and_what_happens_keep_it_awake():
    waking = Waking()
    late = 1e3
    assert waking.is_awake("nothing", True, 0.0) and waking.is_awake("nothing", True, late)
    assert waking.is_awake("an event", False, 3 * late)
