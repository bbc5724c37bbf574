"""What the plots show and how it leaves the studio: curves, thinning, CSV, a picture without a display."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest

from munet.inspect import PastRun
from studio import colors
from studio.messages import Metrics
from studio.plotlines import EARLIER, HELD_OUT, LOSS, METRIC, TRAINING, csv_of, curves_of, drawn, frozen, span, ticks
from studio.plotpicture import HEIGHT, WIDTH, dimmed, picture_of
from studio.record import Record
from tests.studio.helpers import project


def record_of(steps: int = 50) -> Record:
    record = Record()
    rows = np.stack([1.0 / np.arange(1, steps + 1), np.linspace(0, 1, steps)], axis=1).astype(np.float32)
    record.add(Metrics(0, steps, ("loss", "accuracy"), rows, 100.0))
    record.evaluated(20, {"accuracy": 0.25})
    record.evaluated(40, {"accuracy": 0.75})
    return record


def earlier_run() -> PastRun:
    series = {"loss": ([1, 2, 3], [3.0, 2.0, 1.0])}
    return PastRun("/runs/a", 0.0, 1, "cpu", (), project("xor"), 3, series, {}, ())


def test_curves_have_a_kind_a_group_and_one_color_for_a_metric():
    curves = {curve.key: curve for curve in curves_of(record_of(), {"monday": earlier_run()})}
    assert list(curves) == ["/runs/a loss", "loss", "accuracy", "held out accuracy"]  # earlier runs lie below
    assert [curve.kind for curve in curves.values()] == [EARLIER, TRAINING, TRAINING, HELD_OUT]
    assert [curve.group for curve in curves.values()] == [LOSS, LOSS, METRIC, METRIC]
    assert curves["held out accuracy"].color == curves["accuracy"].color != curves["loss"].color
    assert "monday" in curves["/runs/a loss"].name
    assert curves["held out accuracy"].steps == [20, 40]


def test_smoothing_is_for_training_and_earlier_runs_but_not_for_evaluations():
    plain, smooth = (curves_of(record_of(), {"monday": earlier_run()}, amount) for amount in (0.0, 0.9))
    for before, after in zip(plain, smooth, strict=True):
        same = list(before.values) == list(after.values)
        assert same == (before.kind == HELD_OUT), before.key
    assert smooth[0].values[-1] > plain[0].values[-1]  # a falling curve comes down later


def test_what_is_drawn_is_thin_finite_and_ends_with_the_last_value():
    record = Record()
    values = np.linspace(-1.0, 1.0, 3999).reshape(-1, 1)
    values[100] = np.nan
    record.add(Metrics(0, 3999, ("loss",), values, 1.0))
    (curve,) = curves_of(record, {})
    steps, shown = drawn(curve, most=500)
    assert len(steps) == len(shown) < 1010 and steps[-1] == 3999.0 and shown[-1] == 1.0
    assert all(map(math.isfinite, drawn(curve)[1]))
    assert min(drawn(curve, log=True)[1]) > 0.0


def test_csv_has_a_row_for_each_step_and_a_column_for_each_curve():
    rows = list(csv.DictReader(io.StringIO(csv_of(curves_of(record_of(), {})))))
    assert [int(row["step"]) for row in rows] == list(range(1, 51))
    assert list(rows[0]) == ["step", "loss", "accuracy", "accuracy, held out"]
    assert float(rows[1]["loss"]) == 0.5
    assert [row["accuracy, held out"] for row in rows if row["accuracy, held out"]] == ["0.25", "0.75"]


def test_frozen_curves_do_not_grow_with_the_run():
    record = record_of()
    kept = frozen(curves_of(record, {}))
    record.add(Metrics(50, 51, ("loss", "accuracy"), np.ones((1, 2)), 1.0))
    assert len(kept[0].steps) == len(kept[0].values) == 50


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.7, 12.4), (1e-9, 2e-9), (1e6, 1.5e6)])
def test_ticks_are_round_and_inside(low: float, high: float):
    found = ticks(low, high)
    assert 2 <= len(found) <= 7
    assert all(low - 1e-6 * (high - low) <= tick <= high + 1e-6 * (high - low) for tick in found)


def test_span_is_never_empty():
    assert span([]) == (0.0, 1.0)
    for value in (0.0, 5.0, -5.0):
        low, high = span([value])
        assert low < value < high


def _has(pixels: np.ndarray, color: colors.Rgb) -> bool:
    return bool((pixels == color).all(axis=-1).any())


def test_the_picture_shows_each_curve_in_its_color():
    curves = curves_of(record_of(), {"monday": earlier_run()})
    pixels = np.asarray(picture_of(curves, "spirals"))
    assert pixels.shape == (2 * HEIGHT, WIDTH, 3)
    loss, metric = pixels[:HEIGHT], pixels[HEIGHT:]
    by_key = {curve.key: curve.color for curve in curves}
    assert _has(loss, by_key["loss"]) and not _has(metric, by_key["loss"])
    assert _has(metric, by_key["accuracy"]) and not _has(loss, by_key["accuracy"])
    assert _has(loss, dimmed(by_key["/runs/a loss"]))


@pytest.mark.parametrize("log", [False, True])
def test_a_picture_of_one_value_or_of_none_can_be_drawn(log: bool):
    record = Record()
    assert picture_of(curves_of(record, {}), "", log).size == (WIDTH, HEIGHT)
    record.add(Metrics(0, 1, ("loss",), np.array([[0.0]]), 1.0))
    assert picture_of(curves_of(record, {}), "", log).size == (WIDTH, HEIGHT)
