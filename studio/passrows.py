"""The pass list as rows: what each column shows, and how rows are sorted. No window in here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from munet.inspect import Limits, PassView, Timings
from studio.figures import bytes_text, percent_text, three


@dataclass(frozen=True)
class PassRow:
    """A pass with its time; `us` is 0 while nobody has measured. `limit` is None while the device's limits are not known."""

    view: PassView
    us: float = 0.0
    share: float = 0.0  # of the sum of all passes
    limit: float | None = None  # 1 = as fast as the device copies or computes
    limited_by: str = "memory"  # or "arithmetic"
    phase: str = ""

    @property
    def bytes_moved(self) -> int:
        return self.view.bytes_read + self.view.bytes_written

    @property
    def gb_s(self) -> float:
        return self.bytes_moved / self.us / 1e3 if self.us else 0.0

    @property
    def gflop_s(self) -> float:
        return self.view.flops / self.us / 1e3 if self.us else 0.0

    @property
    def kernel(self) -> str:
        """With its variant, where that is an asset's."""
        return self.view.kernel if self.view.variant == "generated" else f"{self.view.kernel} / {self.view.variant}"

    @property
    def nodes(self) -> str:
        return ", ".join(self.view.nodes) or "-"

    @property
    def grid(self) -> str:
        """Without the axes that are 1."""
        x, *rest = self.view.grid
        return "×".join(map(str, (x, *(n for n in rest if n > 1))))


@dataclass(frozen=True)
class Column:
    """`bar`: shown as a share of a bar. `numeric`: set in even width, sorted from the largest down at first."""

    name: str
    weight: float
    key: Callable[[PassRow], float | str]
    words: Callable[[PassRow], str]
    numeric: bool = True
    bar: bool = False


def _figure(value: float) -> str:
    return three(value) if value else ""


COLUMNS = (
    Column("index", 28, lambda r: r.view.index, lambda r: str(r.view.index)),
    Column("level", 46, lambda r: r.view.level, lambda r: str(r.view.level)),
    Column("nodes", 106, lambda r: r.nodes.lower(), lambda r: r.nodes, numeric=False),
    Column("kernel", 84, lambda r: r.kernel, lambda r: r.kernel, numeric=False),
    Column("grid", 44, lambda r: r.view.grid[0] * r.view.grid[1] * r.view.grid[2], lambda r: r.grid),
    Column("us", 54, lambda r: r.us, lambda r: _figure(r.us)),
    Column("share", 54, lambda r: r.share, lambda r: percent_text(r.share) if r.us else "", bar=True),
    Column("gb_s", 48, lambda r: r.gb_s, lambda r: _figure(r.gb_s)),
    Column("gflop_s", 80, lambda r: r.gflop_s, lambda r: _figure(r.gflop_s)),
    Column("limit", 60, lambda r: r.limit or 0.0, lambda r: percent_text(r.limit) if r.limit is not None else "", bar=True),
    Column("read", 62, lambda r: r.view.bytes_read, lambda r: bytes_text(r.view.bytes_read)),
    Column("written", 68, lambda r: r.view.bytes_written, lambda r: bytes_text(r.view.bytes_written)),
)  # fmt: skip
BY_NAME: Mapping[str, Column] = {column.name: column for column in COLUMNS}


def rows_of(passes: Sequence[PassView], timings: Timings | None, limits: Limits | None) -> tuple[PassRow, ...]:
    """In running order."""
    timed = {p.index: p for p in timings.passes} if timings is not None else {}
    total = sum(p.us for p in timed.values())
    found: list[PassRow] = []
    for view in passes:
        time = timed.get(view.index)
        if time is None:
            found.append(PassRow(view))
            continue
        moved = view.bytes_read + view.bytes_written
        limit, by = limits.share(time.us, moved, view.flops) if limits is not None else (None, "memory")
        found.append(PassRow(view, time.us, time.us / total if total else 0.0, limit, by, time.phase))
    return tuple(found)


def sorted_rows(rows: Sequence[PassRow], column: str = "index", descending: bool = False) -> tuple[PassRow, ...]:
    """Equal ones stay in running order."""
    key = BY_NAME[column].key
    return tuple(sorted(rows, key=key, reverse=descending))  # type: ignore[arg-type]  # one column, one type


def passes_of_nodes(passes: Sequence[PassView], paths: frozenset[str]) -> frozenset[int]:
    """The passes that compute something of one of these nodes; a subgraph stands for what is inside."""
    inside = tuple(f"{path}/" for path in paths)
    return frozenset(p.index for p in passes if any(node in paths or node.startswith(inside) for node in p.nodes))
