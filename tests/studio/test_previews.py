"""Looking inside without a window: toning, what a drawing is for, what is shown of a node, tables of tensors, the budget."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import munet
from munet.inspect import wire_shapes
from studio import slices, toning
from studio.budget import SHARE, Budget
from studio.previews import (
    Bars,
    Confusion,
    Facts,
    Fault,
    Picture,
    Plane,
    Seen,
    Wish,
    confusion,
    facts,
    judged,
    kinds_of,
    look,
    marks,
    picture,
    thumbnail,
)
from studio.purpose import Purpose, purpose_of
from studio.writing import Writing, drawn, write

PROJECTS = Path(__file__).resolve().parents[2] / "projects"


def load(name: str) -> munet.Graph:
    return munet.load_project(PROJECTS / f"{name}.json")


def purpose(graph: munet.Graph) -> Purpose:
    found = purpose_of(munet.flatten(graph).graph, wire_shapes(graph))
    assert found is not None
    return found


# Toning


def test_colour_maps_go_from_end_to_end_and_strange_numbers_stand_out():
    values = np.array([[0.0, 5.0, 10.0], [np.nan, np.inf, -np.inf]])
    found = toning.tone(values, "grey")
    assert found.dtype == np.float32 and found.shape == (2, 3, 4)
    np.testing.assert_allclose(found[0, :, 0], [0, 0.5, 1])
    np.testing.assert_allclose(found[1, :, :3], np.tile(toning.STRANGE, (3, 1)))
    assert (found[..., 3] == 1).all()


def test_a_signed_map_is_centred_on_zero_and_equal_values_are_shown():
    left, middle, right = toning.tone(np.array([[-1.0, 0.0, 4.0]]), "signed")[0, :, :3]
    np.testing.assert_allclose(middle, np.array(toning.MAPS["signed"][2]) / 255, atol=1e-6)
    assert left[2] > left[0] and right[0] > right[2]
    assert np.isfinite(toning.tone(np.full((2, 2), 3.0))).all()
    assert np.isfinite(toning.tone(np.full((2, 2), np.nan))).all()


def test_pictures_of_bytes_and_floats():
    grey = toning.colored(np.array([[[0, 255]]], np.uint8))
    np.testing.assert_allclose(grey[0, :, :3], [[0, 0, 0], [1, 1, 1]])
    floats = toning.colored(np.stack([np.full((2, 2), v) for v in (-1.0, 0.0, 1.0)]))
    np.testing.assert_allclose(floats[0, 0], [0, 0.5, 1, 1])


def test_a_grid_keeps_every_picture_and_leaves_gaps_clear():
    pictures = [np.full((2, 3, 4), number, np.float32) for number in range(1, 6)]
    whole = toning.grid(pictures, 3)
    assert whole.shape == (2 * 2 + 1, 3 * 3 + 2, 4)
    assert (whole[0:2, 4:7] == 2).all() and (whole[3:5, 0:3] == 4).all() and (whole[2] == 0).all() and (whole[3:, 8:] == 0).all()


def test_a_grid_has_the_columns_that_make_its_pictures_largest():
    found = [toning.columns_for(count, 28, 28, 1.3) for count in (1, 4, 6, 16, 20, 64)]
    assert found == [1, 2, 3, 4, 5, 10]
    assert toning.columns_for(6, 28, 28) == 3 and toning.columns_for(4, 10, 200) == 1 and toning.columns_for(4, 200, 10) == 4


@pytest.mark.parametrize(("low", "high"), [(-1.1, 2.3), (0.0, 1.0), (-3e-7, 1e-7), (5.0, 5.5), (-0.16, 17.0), (1e30, 9e30)])
def test_marks_below_a_histogram_are_few_round_and_away_from_its_ends(low: float, high: float):
    found = marks(low, high)
    assert 3 <= len(found) <= 6 and len({f"{mark:.4g}" for mark in found}) == len(found)
    assert low + 0.05 * (high - low) < found[0] and found[-1] < high - 0.05 * (high - low)
    for mark in found:
        assert float(f"{mark:.4g}") == pytest.approx(mark, abs=1e-6 * (high - low))


def test_a_histogram_of_one_value_is_marked_with_it_and_one_without_values_not_at_all():
    assert marks(2.5, 2.5) == (2.5,) and marks(np.nan, np.nan) == ()


@pytest.mark.parametrize("size", [(1, 1), (28, 28), (5, 100), (300, 7), (512, 512), (129, 128)])
def test_what_goes_into_a_texture_has_its_size(size: tuple[int, int]):
    out, (height, width) = toning.fitted(np.ones((*size, 4), np.float32), 128)
    assert out.shape == (128, 128, 4) and out.dtype == np.float32 and out.flags.c_contiguous
    assert (out[:height, :width] == 1).all() and out[height:].sum() == 0 == out[:, width:].sum()
    assert 64 < max(height, width) <= 128 or max(size) * 2 > 128


def test_regions_are_in_the_colour_of_the_class_that_wins():
    scores = np.zeros((1, 2, 3))
    scores[0, 0, 1] = scores[0, 1, 2] = 9.0
    found = toning.regions(scores)[0, :, :3]
    for place, kind in enumerate((1, 2)):
        assert np.argmax(found[place]) == np.argmax(toning.CLASSES[kind])
    scores[0, 0] = np.nan
    np.testing.assert_allclose(toning.regions(scores)[0, 0, :3], toning.STRANGE)


# The budget


def test_looking_takes_its_share_of_the_time_and_no_more():
    budget, now, looked, cost = Budget(), 0.0, {"a": 0, "b": 0}, 0.02
    while now < 60:
        for name in looked:
            if budget.take(name, now, 1.0):
                looked[name] += 1
                now += cost
                budget.spent(now, cost)
        now += 0.016
    assert sum(looked.values()) * cost / 60 <= SHARE * 1.05
    assert abs(looked["a"] - looked["b"]) <= 1 and looked["a"] > 30


def test_a_cheap_look_comes_as_often_as_it_wants_and_nobody_waits_for_one_who_has_gone():
    budget = Budget()
    assert budget.take("a", 0.0, 1.0) and not budget.take("a", 0.5, 1.0) and budget.take("a", 1.0, 1.0)
    budget.spent(1.0, 0.3)
    assert not budget.take("b", 2.0, 1.0)  # waits, then is seen no more
    assert not budget.take("a", 9.0, 1.0)
    assert budget.take("a", 1.0 + 0.3 / SHARE, 1.0)


# What a drawing is for


def test_the_purpose_of_the_shipped_projects():
    digits = purpose(load("digits_lenet"))
    assert (digits.kind, digits.scores, digits.target, digits.images) == ("classes", "linear 3.y", "digits.label", "digits.image")
    assert digits.classes == 10 and not digits.points
    spiral = purpose(load("spiral_mlp"))
    assert (spiral.kind, spiral.points, spiral.classes) == ("classes", "spirals.x", 3)
    xor = purpose(load("xor"))
    assert (xor.kind, xor.points, xor.target) == ("values", "points.x", "points.y")
    gpt = purpose(load("char_gpt"))
    assert (gpt.kind, gpt.letters, gpt.scores) == ("text", "text.x", "next.y")
    iris = purpose(load("iris_mlp"))
    assert iris.kind == "classes" and not iris.points and not iris.images
    assert purpose_of(munet.Graph(), {}) is None


# What is shown


@pytest.fixture(scope="module")
def digits() -> munet.Session:
    graph = load("digits_lenet")
    small = replace(graph.nodes["digits"], params={"batch": 20})
    return munet.Session.open(replace(graph, nodes={**graph.nodes, "digits": small}), "cpu")


def test_what_suits_a_node_best_comes_first(digits: munet.Session):
    graph = load("digits_lenet")
    found = {}
    for node in graph.nodes:
        tensors = digits.tensors(node)
        outputs = [tensor for tensor in tensors if tensor.kind == "output"]
        found[node] = kinds_of(node, outputs[0] if outputs else None, tensors, purpose(graph))
    assert found["digits"][0] == found["normalise"][0] == "image"
    assert found["conv 1"] == ("maps", "histogram", "weights", "gradients", "statistics")
    assert found["relu 3"] == ("histogram", "statistics")
    assert found["linear 3"][:2] == found["loss"][:2] == ("samples", "confusion")
    assert "weights" not in found["pool 1"] and found["adam"] == ()


def test_looks_at_a_convolutional_network(digits: munet.Session):
    why = purpose(load("digits_lenet"))
    before = digits.states()

    def shown(node: str, kind: str = "") -> Seen:
        return look(digits, Wish(node, kind), why)

    image = shown("digits").shown
    assert isinstance(image, Picture) and image.rgba.shape[2] == 4 and image.cell == (29, 29)
    maps = shown("conv 1").shown
    assert isinstance(maps, Picture) and maps.samples == 32 and maps.cell == (29, 29)
    weights = shown("conv 1", "weights").shown
    assert isinstance(weights, Bars) and [name for name, _ in weights.lines] == ["conv 1/weight", "conv 1/bias"]
    assert weights.lines[0][1].counts.sum() == 6 * 25
    gradients = shown("conv 1", "gradients").shown
    assert isinstance(gradients, Bars) and "|g|" in gradients.lines[0][0]
    matrix = shown("loss", "confusion").shown
    assert isinstance(matrix, Confusion) and matrix.counts.sum() == 512
    assert 0 <= matrix.accuracy <= 1 and "512" not in matrix.told(3, 4)
    samples = shown("").shown
    assert isinstance(samples, Picture) and len(samples.captions) == len(samples.right) == 20
    told = shown("relu 1", "statistics").shown
    assert isinstance(told, Facts) and told.strange == 0 and dict(told.rows)["shape"] == "32 × 6 × 28 × 28"
    assert shown("conv 1", "no such").kind == "maps"
    assert isinstance(shown("adam").shown, Fault)
    for name, array in digits.states().items():
        np.testing.assert_array_equal(array, before[name], err_msg=name)


def test_the_network_is_judged_as_an_evaluation_judges_it():
    for name, steps in (("iris_mlp", 40), ("spiral_mlp", 60)):
        with munet.Session.open(load(name), "cpu") as session:
            for _ in session.train(steps):
                pass
            why = purpose(load(name))
            label, said = judged(session, why, 10_000)
            matrix = Confusion(confusion(label, said, why.classes))
            assert matrix.counts.sum() == len(label) and matrix.accuracy > 0.4
            assert matrix.accuracy == pytest.approx(session.evaluate()["accuracy"], abs=1e-6)


def test_samples_are_shown_with_what_the_network_says_of_them(digits: munet.Session):
    why = purpose(load("digits_lenet"))
    shown = look(digits, Wish(""), why).shown
    assert isinstance(shown, Picture)
    held = digits.look([why.images, why.target], 20)
    said = digits.predict({why.images: held[why.images]}, [why.scores])[why.scores].argmax(axis=-1)
    right = said == held[why.target]
    assert shown.right == tuple(right)
    assert shown.captions == tuple(
        f"{a}" if a == b else f"{a} ({b})" for a, b in zip(said, held[why.target], strict=True)
    )  # fmt: skip


def test_maps_are_toned_together_and_samples_can_be_chosen():
    values = np.zeros((3, 5, 4, 4), np.float32)
    values[2, 4] = 7.0
    found = picture(values, "maps", 2)
    assert found.samples == 3
    bright = np.isclose(found.rgba, np.array([*toning.MAPS["sea"][-1], 255]) / 255, atol=1e-3).all(axis=-1)
    assert bright.sum() == 16
    assert not np.isclose(picture(values, "maps", 99).rgba, picture(values, "maps", 0).rgba).all()


def test_every_output_has_a_thumbnail():
    rng = np.random.default_rng(0)
    for shape in ((8, 1, 28, 28), (8, 3, 9, 9), (8, 64, 7, 7), (8, 12, 30), (8, 100), (8,), ()):
        out, (height, width) = thumbnail(rng.standard_normal(shape).astype(np.float32), 128)
        assert out.shape == (128, 128, 4) and out[:height, :width, 3].max() == 1


@pytest.mark.parametrize(("value", "number", "strange"), [(0.78125, "0.78125", 0), (np.nan, "nan", 1)])
def test_a_single_number_is_shown_as_such(value: float, number: str, strange: int):
    found = facts(np.array(value, np.float32))
    assert (found.number, found.strange, len(found.rows)) == (number, strange, 2)
    assert facts(np.array([value, 1.0], np.float32)).number == ""


def test_confusion_counts_by_label_and_leaves_out_what_is_ignored():
    counts = confusion(np.array([0, 0, 1, -100, 2]), np.array([0, 2, 1, 0, 2]), 3)
    assert counts.tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 1]]
    assert Confusion(counts).accuracy == 0.75 and Confusion(counts).share_right(0) == 0.5


def test_planes_of_points_of_a_classifier_and_of_values():
    for name, kinds in (("spiral_mlp", (0, 1, 2)), ("xor", (0, 1))):
        graph = load(name)
        with munet.Session.open(graph, "cpu") as session:
            found = look(session, Wish(), purpose(graph))
            assert found.kind == "surface" and isinstance(found.shown, Plane)
            assert tuple(kind for kind, _ in found.shown.points) == kinds
            left, bottom, right, top = found.shown.bounds
            for _, points in found.shown.points:
                assert (points > (left, bottom)).all() and (points < (right, top)).all()


def test_a_plane_has_its_first_row_at_the_top():
    """Points above are of one kind, those below of the other: the network that says so is drawn by hand."""
    graph = load("spiral_mlp")
    with munet.Session.open(graph, "cpu") as session:
        found = look(session, Wish(), purpose(graph)).shown
        assert isinstance(found, Plane)
        left, _, right, top = found.bounds
        corner = session.predict({"spirals.x": np.array([[left, top], [right, top]], np.float32)}, ["linear 3.y"])["linear 3.y"]
        np.testing.assert_allclose(found.rgba[0, [0, -1]], toning.regions(corner[None])[0], atol=1e-4)


def test_text_is_written_letter_by_letter_and_goes_on_where_it_was():
    graph = load("char_gpt")
    small = {"text": {"length": 8, "batch": 2, "every": 64}, "letters": {"count": 61, "width": 16}}
    blocks = {f"block {i}": {"heads": 2} for i in (1, 2, 3)}
    known = small | blocks
    nodes = {id_: replace(node, params={**known[id_]}) if id_ in known else node for id_, node in graph.nodes.items()}
    graph = replace(graph, nodes=nodes)
    with munet.Session.open(graph, "cpu") as session:
        why = purpose(graph)
        begun = Writing(why.letters, why.scores, why.file, "To b\x00e", 12, temperature=0.5)
        slow = write(session, begun, limit_s=0.0)
        assert slow.left == 11 and slow.written.startswith("To be") and len(slow.written) == 6
        whole = write(session, begun, limit_s=60.0)
        assert write(session, slow, limit_s=60.0).written == whole.written and whole.left == 0
        for _ in session.train(20):
            pass
        assert write(session, begun, limit_s=60.0).written != whole.written  # it has learnt: the same draws give another text


def test_letters_are_drawn_by_their_scores():
    rng = np.random.default_rng(0)
    scores = np.array([0.0, 1.0, -np.inf, np.nan])
    assert drawn(scores, 0.0, rng) == 1
    found = np.bincount([drawn(scores, 1.0, rng) for _ in range(2000)], minlength=4) / 2000
    assert abs(found[1] - np.e / (1 + np.e)) < 0.04 and found[2] == found[3] == 0


# Tables of tensors


def test_slices_of_tensors_by_their_axes():
    values = np.arange(2 * 3 * 4).reshape(2, 3, 4)
    cut = slices.first_cut(values.shape)
    np.testing.assert_array_equal(slices.plane_of(values, cut), values[0])
    np.testing.assert_array_equal(slices.plane_of(values, cut.moved(0, 1)), values[1])
    np.testing.assert_array_equal(slices.plane_of(values, cut.turned()), values[0].T)
    np.testing.assert_array_equal(slices.plane_of(values, cut.with_axes(0, 2).moved(1, 2)), values[:, 2])
    assert cut.with_axes(2, 2) == cut.turned() and slices.start_of(cut.moved(2, 3).turned()) == (3, 0)
    assert slices.plane_of(np.arange(5), slices.first_cut((5,))).shape == (1, 5)
    assert slices.plane_of(np.array(3.0), slices.first_cut(())).shape == (1, 1)
    assert slices.fitting(cut.moved(0, 1), (1, 3, 4)).at == (0, 0, 0) and slices.fitting(cut, (3, 4)) == slices.first_cut((3, 4))


def test_numbers_are_short_and_strange_ones_are_marked():
    words = [slices.shown(np.float32(x)) for x in (0, 0.5, -12.25, 1e-7, 123456.0, np.nan, np.inf, -np.inf)]
    assert words == ["0", "0.5000", "-12.2500", "1.00e-07", "1.23e+05", "NaN", "+Inf", "-Inf"]
    assert [slices.shown(x) for x in (np.int32(-7), np.uint8(255), np.bool_(True))] == ["-7", "255", "True"]
    assert slices.is_strange(np.float32("nan")) and not slices.is_strange(np.int32(3))


def test_tensors_come_out_as_text_and_as_a_file():
    values = np.array([[0.1, 2.0], [np.nan, 4.0]], np.float32)
    rows = [[float(cell) for cell in row.split("\t")] for row in slices.as_text(values).split("\n")]
    np.testing.assert_array_equal(np.array(rows, np.float32), values)
    np.testing.assert_array_equal(np.load(io.BytesIO(slices.as_npy(values.T))), values.T)
