"""Operators and layers beside their namesakes in PyTorch: values and gradients, on odd shapes, in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  # PyTorch's own convention

from munet.engine.errors import ShapeError
from munet.engine.operator import REGISTRY
from munet.nodes.samples import apart, normal, positive, truths, whole
from tests.nodes.torch_judge import agree, run_node

UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "floor": torch.floor, "ceil": torch.ceil, "round": torch.round, "trunc": torch.trunc, "exp2": torch.exp2,
    "expm1": torch.expm1, "tan": torch.tan, "atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh, "erf": torch.erf,
    "abs": torch.abs, "square": torch.square, "neg": torch.neg, "sign": torch.sign, "tanh": torch.tanh,
    "relu": F.relu, "sigmoid": torch.sigmoid, "silu": F.silu, "softplus": F.softplus, "mish": F.mish, "softsign": F.softsign,
    "log_sigmoid": F.logsigmoid, "relu6": F.relu6, "hard_tanh": F.hardtanh, "hard_sigmoid": F.hardsigmoid,
    "hard_swish": F.hardswish, "selu": F.selu, "elu": F.elu, "celu": F.celu, "leaky_relu": F.leaky_relu, "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "GLU": lambda x: F.glu(x[:, :10]),
    "softmax": lambda x: torch.softmax(x, -1), "log_softmax": lambda x: torch.log_softmax(x, -1),
    "norm": lambda x: torch.linalg.vector_norm(x), "logsumexp": lambda x: torch.logsumexp(x, (0, 1)), "var": torch.var,
    "std": torch.std, "prod": torch.prod, "unsqueeze": lambda x: x[None], "cumsum": lambda x: torch.cumsum(x, -1),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_input(name: str):
    x = {"tan": apart(7, 11) * 0.3, "prod": positive(7, 11), "GLU": normal(7, 10)}.get(name, apart(7, 11) + 0.012)
    agree(name, lambda given, _: UNARY[name](given[0]), [x])


INSIDE = {"asin": torch.asin, "acos": torch.acos}
ABOVE = {
    "log": torch.log,
    "log1p": torch.log1p,
    "log2": torch.log2,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
}


@pytest.mark.parametrize("name", [*INSIDE, *ABOVE])
def test_functions_of_a_limited_range(name: str):
    x = np.tanh(normal(7, 11)) if name in INSIDE else positive(7, 11)
    agree(name, lambda given, _: (INSIDE | ABOVE)[name](given[0]), [x])


BINARY: dict[str, Callable[..., Tensor]] = {
    "mod": torch.remainder, "atan2": torch.atan2, "maximum": torch.maximum, "minimum": torch.minimum,
    "div": torch.div, "floor_divide": lambda x, y: torch.floor(x / y),
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_inputs(name: str):
    agree(name, lambda given, _: BINARY[name](*given), [apart(5, 1, 3), apart(4, 1, seed=8) + 0.012])


def test_tests_and_logic():
    x = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0])
    for name in ("isnan", "isinf", "isfinite"):
        assert (run_node(name, [x], {}).result == getattr(np, name)(x)).all()
    a, b = truths(7, 11), truths(7, 11, seed=8)
    for name in ("logical_and", "logical_or", "logical_xor"):
        assert (run_node(name, [a, b], {}).result == getattr(np, name)(a, b)).all()
    assert (run_node("logical_not", [a], {}).result == ~a).all()
    assert (run_node("any", [a], {"axes": (1,)}).result == a.any(axis=1)).all()
    assert (run_node("all", [a], {"axes": (0,), "keepdims": True}).result == a.all(axis=0, keepdims=True)).all()
    assert (run_node("not_equal", [x, x], {}).result == (x != x)).all()
    assert run_node("cast", [x], {"dtype": "bool"}).result.tolist() == [True, True, True, False, True]
    assert run_node("argmin", [np.array([[3.0, 1.0, 1.0]])], {}).result.tolist() == [1]


@pytest.mark.parametrize("ties", [-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])
def test_clamp_at_its_edges(ties: float):
    agree("clamp", lambda given, _: torch.clamp(given[0], -1.0, 1.0), [np.array([ties])], min=-1.0, max=1.0)


@pytest.mark.parametrize("alpha", [0.3, 1.7])
def test_activations_with_a_parameter(alpha: float):
    x = [apart(5, 7)]
    agree("elu", lambda given, _: F.elu(given[0], alpha), x, alpha=alpha)
    agree("celu", lambda given, _: F.celu(given[0], alpha), x, alpha=alpha)
    agree("leaky_relu", lambda given, _: F.leaky_relu(given[0], alpha), x, slope=alpha)
    agree("PReLU", lambda given, states: F.prelu(given[0], states["weight"]), x)
    agree("PReLU", lambda given, states: F.prelu(given[0], states["weight"]), [apart(3, 5, 2)], slopes="channels")


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_along_any_axis(axis: int):
    x = [normal(3, 5, 7) * 30]
    agree("softmax", lambda given, _: torch.softmax(given[0], axis), x, axis=axis)
    agree("log_softmax", lambda given, _: torch.log_softmax(given[0], axis), x, axis=axis)


@pytest.mark.parametrize(("axes", "keepdims"), [((1,), False), ((0, -1), True)])
def test_reductions(axes: tuple[int, ...], keepdims: bool):
    x, over = [normal(3, 5, 7)], {"axes": axes, "keepdims": keepdims}
    agree("norm", lambda given, _: torch.linalg.vector_norm(given[0], dim=axes, keepdim=keepdims), x, **over)
    agree("logsumexp", lambda given, _: torch.logsumexp(given[0], axes, keepdims), x, **over)
    agree("var", lambda given, _: torch.var(given[0], axes, keepdim=keepdims), x, **over)
    agree("std", lambda given, _: torch.std(given[0], axes, correction=0, keepdim=keepdims), x, **over, correction=0)
    agree("max", lambda given, _: torch.amax(given[0], axes, keepdims), x, **over)


@pytest.mark.parametrize("x", [[2.0, 3.0, -4.0], [2.0, 0.0, -4.0], [0.0, 0.0, -4.0]])
def test_product_with_zeros(x: list[float]):
    agree("prod", lambda given, _: torch.prod(given[0], 0), [np.array(x)], axes=(0,))


# -- shape and indexing --------------------------------------------------------------------------------------------------


def test_shape_nodes():
    x = [normal(4, 6)]
    agree("flip", lambda given, _: torch.flip(given[0], (1,)), x, axis=-1)
    agree("stepped_slice", lambda given, _: given[0][:, 1:6:2], x, axis=1, start=1, step=2, length=3)
    agree("triangular", lambda given, _: torch.tril(given[0], 1), x, diagonal=1)
    agree("triangular", lambda given, _: torch.triu(given[0], -1), x, part="upper", diagonal=-1)
    agree("repeat", lambda given, _: given[0].repeat(2, 3, 1), x, times=(2, 3, 1))
    agree("split", lambda given, _: torch.chunk(given[0], 3, 1)[1], x, output="y2", axis=1, parts=3)
    agree("stack", lambda given, _: torch.stack(tuple(given), 1), [normal(4, 6), normal(4, 6, seed=8)], axis=1)
    agree("squeeze", lambda given, _: given[0].squeeze(), [normal(3, 1, 5, 1)])
    agree("cumsum", lambda given, _: torch.cumsum(given[0], 0), x, axis=0)
    agree(
        "pad2d",
        lambda given, _: F.pad(given[0], (3, 0, 1, 2), value=-1.5),
        [normal(2, 3, 4, 5)],
        rows=(1, 2),
        columns=(3, 0),
        value=-1.5,
    )


def test_gather_and_scatter_add():
    x, index = normal(5, 7, 3), whole(9, 6, 2, high=5).astype(np.int64)
    agree("gather", lambda given, _: torch.gather(given[0], 0, given[1]), [x, index], axis=0)
    source = normal(9, 6, 2, seed=8)
    agree("scatter_add", lambda given, _: torch.scatter_add(given[0], 0, given[1], given[2]), [x, index, source], axis=0)
    with pytest.raises(ShapeError, match="same shape"):
        run_node("scatter_add", [x, index, source[:, :1]], {"axis": 0})


def test_repeated_rows_add_up():
    ours = agree("Embedding", lambda given, s: F.embedding(given[0], s["weight"]), [np.array([1, 1, 2])], count=3, width=2)
    assert (ours.grads["weight"][0] == 0).all()


# -- convolution, pooling, resizing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "geometry",
    [
        {},
        {"stride": (2, 3), "padding": (1, 2), "output_padding": (1, 0)},
        {"stride": (3, 1), "padding": (2, 0), "dilation": (2, 1), "output_padding": (2, 0), "groups": 2},
    ],
)
def test_transposed_convolution(geometry: dict[str, Any]):
    kernel = {"kernel": (3, 2), "out_channels": 6, "stride": (1, 1)} | geometry

    def theirs(given: Any, states: Any) -> Tensor:
        return F.conv_transpose2d(given[0], states["weight"], states["bias"], **geometry)

    agree("ConvTranspose2d", theirs, [normal(2, 4, 5, 7)], **kernel)


@pytest.mark.parametrize("geometry", [{}, {"stride": 2, "padding": 1, "dilation": 3, "groups": 2}])
def test_convolution_in_one_dimension(geometry: dict[str, Any]):
    def theirs(given: Any, states: Any) -> Tensor:
        return F.conv1d(given[0], states["weight"], states["bias"], **geometry)

    agree("Conv1d", theirs, [normal(3, 4, 13)], out_channels=6, kernel=3, **geometry)


def test_depthwise_convolution():
    def theirs(given: Any, states: Any) -> Tensor:
        return F.conv2d(given[0], states["weight"], states["bias"], stride=(1, 2), groups=5)

    agree("Conv2d", theirs, [normal(2, 5, 7, 6)], out_channels=10, groups=5, stride=(1, 2))


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize(("kernel", "stride", "padding"), [((2, 2), (2, 2), (0, 0)), ((3, 2), (2, 1), (1, 1))])
def test_pooling(kernel: Any, stride: Any, padding: Any, counted: bool):
    x, window = [apart(2, 3, 7, 8)], {"kernel": kernel, "stride": stride, "padding": padding}
    agree("max_pool2d", lambda given, _: F.max_pool2d(given[0], kernel, stride, padding), x, **window)
    agree(
        "avg_pool2d",
        lambda given, _: F.avg_pool2d(given[0], kernel, stride, padding, count_include_pad=counted),
        x,
        **window,
        count_include_pad=counted,
    )


def test_pooling_of_rows_and_of_whole_images():
    x = [apart(2, 3, 11)]
    agree("max_pool1d", lambda given, _: F.max_pool1d(given[0], 3, 2, 1), x, kernel=3, stride=2, padding=1)
    agree("avg_pool1d", lambda given, _: F.avg_pool1d(given[0], 3, 2, 1), x, kernel=3, stride=2, padding=1)
    image = [normal(2, 3, 6, 8)]
    agree("global_avg_pool2d", lambda given, _: given[0].mean((2, 3)), image)
    agree("adaptive_avg_pool2d", lambda given, _: F.adaptive_avg_pool2d(given[0], (3, 4)), image, size=(3, 4))
    ones = run_node("avg_pool1d", [np.ones((1, 2, 4))], {})
    assert (run_node("avg_pool1d", [np.ones((1, 2, 4))], {}).grads["0"] == np.repeat(ones.weight, 2, axis=2) / 2).all()


@pytest.mark.parametrize("size", [(7, 5), (11, 10), (3, 2), (1, 1), (14, 15)])
@pytest.mark.parametrize("mode", ["bilinear", "aligned", "nearest", "nearest_exact"])
def test_resize(size: tuple[int, int], mode: str):
    names = {"aligned": "bilinear", "nearest_exact": "nearest-exact"}
    aligned = {"aligned": True, "bilinear": False}.get(mode)

    def theirs(given: Any, _: Any) -> Tensor:
        return F.interpolate(given[0], size, mode=names.get(mode, mode), align_corners=aligned)

    ours = {"mode": "bilinear" if mode == "aligned" else mode, "align_corners": bool(aligned)}
    agree("resize", theirs, [normal(2, 3, 7, 5)], size=size, **ours)


def test_resize_to_the_middle_and_to_the_nearest():
    line = np.arange(10.0).reshape(1, 1, 1, 10)
    assert run_node("resize", [line], {"size": (1, 1)}).result.item() == 4.5
    wide = np.arange(26.0).reshape(1, 1, 1, 26)
    exact = run_node("resize", [wide], {"size": (1, 64), "mode": "nearest_exact"}).result[0, 0, 0]
    assert exact[30:35].tolist() == [12, 12, 13, 13, 14]
    plain = run_node("resize", [wide], {"size": (1, 64), "mode": "nearest"}).result[0, 0, 0]
    assert plain.tolist() == [i * 26 // 64 for i in range(64)]


# -- normalisation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5, 3), (5, 3, 7), (2, 3, 4, 5)])
@pytest.mark.parametrize("momentum", [0.1, 0.35])
def test_batch_norm(shape: tuple[int, ...], momentum: float):
    x = [normal(*shape) * 3 + 100]  # a large mean: the variance must not cancel
    kept: dict[str, Tensor] = {}

    def theirs(given: Any, s: Any, training: bool) -> Tensor:
        kept.update({name: s[name].clone() for name in ("running_mean", "running_var")})
        return F.batch_norm(given[0], kept["running_mean"], kept["running_var"], s["weight"], s["bias"], training, momentum)

    ours = agree("BatchNorm", lambda given, s: theirs(given, s, True), x, momentum=momentum, rtol=3e-6)
    for name, expected in kept.items():
        np.testing.assert_allclose(ours.after[name], expected.numpy(), rtol=3e-7)
    ours = agree("BatchNorm", lambda given, s: theirs(given, s, False), x, momentum=momentum, training=False)
    assert (ours.after["running_mean"] == ours.states["running_mean"]).all()
    with pytest.raises(ShapeError, match="at least 2 values a channel"):
        run_node("BatchNorm", [normal(1, 3)], {})


def test_normalisation_of_each_sample():
    x = [normal(3, 6, 5, 4)]
    agree("LayerNorm", lambda given, s: F.layer_norm(given[0], (5, 4), s["weight"], s["bias"]), x, dims=2)
    agree("LayerNorm", lambda given, s: F.layer_norm(given[0], (4,), s["weight"]), x, bias=False)
    agree("GroupNorm", lambda given, s: F.group_norm(given[0], 3, s["weight"], s["bias"]), x, groups=3)
    agree("GroupNorm", lambda given, s: F.group_norm(given[0], 2, s["weight"], s["bias"]), [normal(3, 6)], groups=2)
    agree("InstanceNorm", lambda given, s: F.instance_norm(given[0]), x)
    agree("InstanceNorm", lambda given, s: F.instance_norm(given[0], weight=s["weight"], bias=s["bias"]), x, affine=True)
    agree("RMSNorm", lambda given, s: F.rms_norm(given[0], (5, 4), s["weight"], 1e-5), x, dims=2, eps=1e-5)
    assert REGISTRY["RMSNorm"].params["eps"].default == np.finfo(np.float32).eps


# -- attention -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [False, True])
def test_scaled_dot_product_attention(causal: bool):
    q, k, v = normal(2, 3, 5, 4), normal(2, 3, 5, 4, seed=8), normal(2, 3, 5, 7, seed=9)
    attend = F.scaled_dot_product_attention
    agree("scaled_dot_product_attention", lambda given, _: attend(*given, is_causal=causal), [q, k, v], causal=causal)
    mask = truths(5, 5)
    mask[2] = False  # nothing may be read: PyTorch gives zeros
    agree("scaled_dot_product_attention", lambda given, _: attend(*given), [q, k, v, mask])
    agree("scaled_dot_product_attention", lambda given, _: attend(*given[:3], attn_mask=given[3]), [q, k, v, normal(5, 5)])


@pytest.mark.parametrize("crossed", [False, True])
def test_multi_head_attention(crossed: bool):
    x, context = normal(2, 5, 12), normal(2, 7, 12, seed=8)

    def theirs(given: Any, s: Any) -> Tensor:
        y = given[1] if crossed else given[0]
        q, kv = given[0].transpose(0, 1), y.transpose(0, 1)
        weight, bias = s["in_proj_weight"], s["in_proj_bias"]
        out_weight, out_bias = s["out_proj.weight"], s["out_proj.bias"]
        result, _ = F.multi_head_attention_forward(
            q, kv, kv, 12, 3, weight, bias, None, None, False, 0.0, out_weight, out_bias
        )  # fmt: skip
        return result.transpose(0, 1)

    agree("MultiHeadAttention", theirs, [x, context] if crossed else [x], heads=3)


def test_a_transformer_block():
    def theirs(given: Any, s: Any) -> Tensor:
        x = given[0]
        y = F.layer_norm(x, (8,), s["norm 1/weight"], s["norm 1/bias"])
        q, k, v = F.linear(y, s["attention/in_proj_weight"], s["attention/in_proj_bias"]).chunk(3, -1)
        q, k, v = (z.reshape(3, 5, 2, 4).transpose(1, 2) for z in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(3, 5, 8)
        x = x + F.linear(y, s["attention/out_proj.weight"], s["attention/out_proj.bias"])
        y = F.layer_norm(x, (8,), s["norm 2/weight"], s["norm 2/bias"])
        y = F.gelu(F.linear(y, s["linear 1/weight"], s["linear 1/bias"]))
        return x + F.linear(y, s["linear 2/weight"], s["linear 2/bias"])

    agree("TransformerBlock", theirs, [normal(3, 5, 8)], heads=2)


def test_positions_are_added():
    x = [normal(2, 5, 3)]
    agree("PositionalEmbedding", lambda given, s: given[0] + s["weight"], x)
    agree("PositionalEmbedding", lambda given, s: given[0] + s["weight"][:5], x, length=9)


# -- losses and metrics --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:reduction. .mean. divides")
def test_losses_of_two_tensors():
    pair = [normal(5, 7) * 2, normal(5, 7, seed=8)]
    agree("mse_loss", lambda given, _: F.mse_loss(*given), pair)
    agree("l1_loss", lambda given, _: F.l1_loss(*given), pair)
    agree("huber_loss", lambda given, _: F.huber_loss(*given, delta=0.7), pair, delta=0.7)
    agree("smooth_l1_loss", lambda given, _: F.smooth_l1_loss(*given, beta=0.7), pair, beta=0.7)
    agree("smooth_l1_loss", lambda given, _: F.smooth_l1_loss(*given, beta=0.0), pair, beta=0.0)
    chances, truth = 1 / (1 + np.exp(-normal(5, 7))), np.where(truths(5, 7), 1.0, 0.3)
    agree("bce_with_logits", lambda given, _: F.binary_cross_entropy_with_logits(*given), [pair[0], truth])
    logs, target = np.log(chances), np.where(truths(5, 7), chances[::-1], 0.0)
    agree("cosine_similarity", lambda given, _: F.cosine_similarity(*given), pair)
    ours = run_node("bce_loss", [chances, truth], {})
    expected = F.binary_cross_entropy(torch.from_numpy(chances), torch.from_numpy(truth))
    assert ours.result == pytest.approx(expected.item(), rel=3e-7)
    for over, name in (("elements", "mean"), ("batch", "batchmean")):
        expected = F.kl_div(torch.from_numpy(logs), torch.from_numpy(target), reduction=name)
        assert run_node("kl_div_loss", [logs, target], {"mean_over": over}).result == pytest.approx(expected.item(), rel=3e-7)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("ignored", [-100, 2])
def test_cross_entropy(smoothing: float, ignored: int):
    logits, label = normal(11, 5) * 5, whole(11, high=5).astype(np.int64)

    def theirs(given: Any, _: Any) -> Tensor:
        return F.cross_entropy(given[0], given[1], label_smoothing=smoothing, ignore_index=ignored)

    agree("cross_entropy", theirs, [logits, label], label_smoothing=smoothing, ignore_index=ignored)
    agree("nll_loss", lambda given, _: F.nll_loss(*given, ignore_index=ignored), [logits, label], ignore_index=ignored)


def test_metrics():
    logits, label = normal(50, 11), whole(50, high=11)
    best = np.argsort(-logits, axis=1)[:, :3]
    assert run_node("top_k_accuracy", [logits, label], {"k": 3}).result == pytest.approx((best == label[:, None]).any(1).mean())
    x, y = normal(5, 7), normal(5, 7, seed=8)
    assert run_node("psnr", [x, y], {"peak": 2.0}).result == pytest.approx(10 * np.log10(4 / np.mean((x - y) ** 2)))
    assert run_node("mean_absolute_error", [x, y], {}).result == pytest.approx(np.abs(x - y).mean())
    loss = F.cross_entropy(torch.from_numpy(logits), torch.from_numpy(label.astype(np.int64)))
    assert run_node("perplexity", [logits, label], {}).result == pytest.approx(loss.exp().item())


def test_cosine_embedding_loss():
    target = np.where(truths(9), 1.0, -1.0)
    x, y = normal(9, 5), normal(9, 5, seed=8)
    ours = run_node("cosine_embedding_loss", [x, y, target], {"margin": 0.1})
    first, second = (torch.from_numpy(a).requires_grad_() for a in (x, y))
    expected = F.cosine_embedding_loss(first, second, torch.from_numpy(target), margin=0.1)
    (expected * float(ours.weight)).backward()
    assert ours.result == pytest.approx(expected.item(), rel=3e-7)
    assert first.grad is not None
    np.testing.assert_allclose(ours.grads["0"], first.grad.numpy(), rtol=3e-7, atol=1e-9)
