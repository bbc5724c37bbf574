"""The record of frame times."""

from __future__ import annotations

import pytest

from studio.frametimes import FrameTimes, line


def test_medians_and_the_longest_frame():
    times = FrameTimes(kept=100, warm_up=2)
    assert times.now.frames == 0 and times.now.frames_per_s == 0.0
    times.add(5.0, 0.0)  # warming up
    times.add(5.0, 1.0)
    clock = 1.0
    for frame in range(150):
        clock += 0.02
        times.add(0.030 if frame == 10 else 0.002, clock)
    found = times.now
    assert (found.frames, found.longest_ms) == (150, pytest.approx(30.0))
    assert found.median_ms == pytest.approx(2.0) and found.p99_ms == pytest.approx(2.0)
    assert found.frames_per_s == pytest.approx(50.0) and "50 frames/s" in str(found)
    clock += 3.0
    times.add(0.002, clock)
    assert times.now.longest_wall_ms == pytest.approx(3000.0)


def test_sleep_is_no_frame_and_counting_may_start_anew():
    times = FrameTimes(warm_up=0)
    times.add(0.001, 0.0)
    times.rested()
    times.add(0.004, 100.0)
    times.add(0.001, 100.1)
    assert times.now.longest_wall_ms == pytest.approx(100.0)
    times.restart()
    times.add(0.002, 100.2, 0.001)
    assert times.now.longest_busy_ms == pytest.approx(1.0)
    assert times.now.frames == 1 and times.now.longest_ms == pytest.approx(2.0)


def test_the_line_of_the_command_line_option():
    times = FrameTimes(warm_up=0)
    times.add(0.002, 10.0)
    times.add(0.004, 10.05)
    assert line(times.now, (3, 1)) == (
        "20 frames/s, longest gap 50 ms  |  own 4.0 ms, p99 4.0, longest 4.0  |  worker 3 in, 1 out"
    )
