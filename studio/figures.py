"""Numbers of the machine as people read them: times, bytes, rates, shares. Always short, for narrow columns."""

from __future__ import annotations


def us_text(us: float) -> str:
    """A time: "850 ns", "12.3 µs", "1.24 ms", "2.5 s"."""
    if us < 1.0:
        return f"{three(1000 * us)} ns"
    for unit, size in (("µs", 1.0), ("ms", 1e3)):
        if us / size < 999.5:
            return f"{three(us / size)} {unit}"
    return f"{three(us / 1e6)} s"


def bytes_text(count: float) -> str:
    """Decimal units, as rates have them: "640 B", "1.88 MB"."""
    for unit, size in (("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if count / size < 999.5:
            return f"{count:.0f} B" if unit == "B" else f"{three(count / size)} {unit}"
    return f"{three(count / 1e12)} TB"


def count_text(count: float) -> str:
    """Counts of operations and elements: "1.2k", "35M"."""
    for unit, size in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if count / size < 999.5:
            return f"{count:.0f}" if not unit else f"{three(count / size)}{unit}"
    return f"{three(count / 1e12)}T"


def percent_text(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


def three(number: float) -> str:
    """Three digits that count: 0.123, 1.23, 12.3, 123."""
    if abs(number) < 9.995:
        return f"{number:.2f}"
    return f"{number:.1f}" if abs(number) < 99.95 else f"{number:.0f}"


def times_text(before: float, after: float) -> str:
    """How many times less, "7.2×", or "1.2× more"; "" where there is nothing to compare."""
    if before <= 0 or after <= 0:
        return ""
    return f"{three(before / after)}×" if before >= after else f"{three(after / before)}× more"
