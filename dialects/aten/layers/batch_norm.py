"""Normalisation of channels with statistics over the batch or over each instance."""

from __future__ import annotations

import math

from xdsl.ir import SSAValue

from flambeau.dialects.aten.layers.norm import (
    NativeGroupNormOp,
    Stats,
    channels_of,
    moments,
    per_channel,
    require_float,
    require_parameters,
    scale_and_shift,
    statistics_element,
)
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import require_shape
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@aten(
    "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    core=True,
)
class NativeBatchNormLegitNoTrainingOp(SchemaOp):
    """(x - running mean) / running deviation * weight + bias, per channel; then two empty tensors."""

    @staticmethod
    def infer(x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, variance: Tensor, /) -> tuple[Tensor, Tensor, Tensor]:
        require_parameters(x, weight, bias, mean, variance)
        channels = channels_of(x)
        for name, parameter in (("weight", weight), ("bias", bias), ("running_mean", mean), ("running_var", variance)):
            require_shape(name, parameter, (channels,))
        empty = tensor(element_of(mean), (0,))
        return tensor(require_float(x), shape_of(x)), empty, empty

    @staticmethod
    def numpy(x: Array, weight: Array | None, bias: Array | None, mean: Array, variance: Array, /, eps: float) -> Stats:
        wide = widened(x)
        deviation = 1 / np.sqrt(per_channel(variance, x.ndim) + wide.dtype.type(eps))
        factors = [None if p is None else per_channel(p, x.ndim) for p in (weight, bias)]
        result = scale_and_shift((wide - per_channel(mean, x.ndim)) * deviation, *factors).astype(x.dtype)
        empty = np.zeros(0, mean.dtype)
        return result, empty, empty


@aten(
    "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> "
    "(Tensor, Tensor, Tensor)",
    core=True,
)
class NativeBatchNormLegitNoStatsOp(SchemaOp):
    """Each channel normalised over the batch and all positions, times weight plus bias; then the means and the reciprocal deviations."""

    @staticmethod
    def infer(x: Tensor, /, weight: Tensor | None, bias: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        require_parameters(x, weight, bias)
        channels = channels_of(x)
        require_shape("weight", weight, (channels,))
        require_shape("bias", bias, (channels,))
        stats = tensor(statistics_element(x, weight, bias), (channels,))
        return tensor(require_float(x), shape_of(x)), stats, stats

    @staticmethod
    def numpy(x: Array, /, weight: Array | None, bias: Array | None, eps: float) -> Stats:
        wide = widened(x)
        mean, deviation = moments(wide, (0, *range(2, x.ndim)), eps)
        factors = [None if p is None else per_channel(p, x.ndim) for p in (weight, bias)]
        result = scale_and_shift((wide - mean) * deviation, *factors).astype(x.dtype)
        dtype = next((parameter.dtype for parameter in (weight, bias) if parameter is not None), x.dtype)
        return result, mean.reshape(-1).astype(dtype), deviation.reshape(-1).astype(dtype)


def require_inference(training: bool, mean: object, variance: object) -> None:
    """Raises ValueError when running statistics would be updated, or one that is used is missing."""
    if (mean is None) != (variance is None):
        raise ValueError("running_mean and running_var must both be present or both absent")
    if training and mean is not None:
        raise ValueError("batch normalisation that updates running statistics is for training; export the model after .eval()")
    if not training and mean is None:
        raise ValueError("outside training there must be a running_mean and a running_var")


@aten(
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, "
    "float eps, bool cudnn_enabled) -> Tensor"
)
class BatchNormOp(SchemaOp):
    """Each channel normalised by its running statistics, or by those of the batch if there are none, times weight plus bias."""

    @staticmethod
    def infer(
        x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor | None, variance: Tensor | None, /, training: bool
    ) -> Tensor:
        require_inference(training, mean, variance)
        require_parameters(x, weight, bias, mean, variance)
        require_shape("running_mean", mean, (channels_of(x),))
        require_shape("running_var", variance, (channels_of(x),))
        return NativeBatchNormLegitNoStatsOp.infer(x, weight, bias)[0]

    @staticmethod
    def numpy(x: Array, weight: Array | None, bias: Array | None, mean: Array | None, variance: Array | None, /, eps: float) -> Array:
        if mean is None or variance is None:
            return NativeBatchNormLegitNoStatsOp.numpy(x, weight, bias, eps)[0]
        return NativeBatchNormLegitNoTrainingOp.numpy(x, weight, bias, mean, variance, eps)[0]

    @staticmethod
    def decompose(
        x: SSAValue,
        weight: SSAValue | None,
        bias: SSAValue | None,
        mean: SSAValue | None,
        variance: SSAValue | None,
        /,
        momentum: float,
        eps: float,
    ) -> SSAValue:
        if mean is not None:
            return aten._native_batch_norm_legit_no_training.results(x, weight, bias, mean, variance, momentum, eps)[0]
        return aten._native_batch_norm_legit.no_stats.results(x, weight, bias, True, momentum, eps)[0]


@aten(
    "instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, "
    "float momentum, float eps, bool cudnn_enabled) -> Tensor"
)
class InstanceNormOp(SchemaOp):
    """Each channel of each batch entry normalised by its own statistics (or by running statistics), times weight plus bias."""

    @staticmethod
    def infer(
        x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor | None, variance: Tensor | None, /, use_input_stats: bool
    ) -> Tensor:
        return BatchNormOp.infer(x, weight, bias, mean, variance, use_input_stats)

    @staticmethod
    def numpy(
        x: Array, weight: Array | None, bias: Array | None, mean: Array | None, variance: Array | None, /, use_input_stats: bool, eps: float
    ) -> Array:
        if not use_input_stats:
            return BatchNormOp.numpy(x, weight, bias, mean, variance, eps)
        size = math.prod(x.shape[2:])
        return NativeGroupNormOp.numpy(x, weight, bias, x.shape[0], x.shape[1], size, x.shape[1], eps)[0]

    @staticmethod
    def decompose(
        x: SSAValue,
        weight: SSAValue | None,
        bias: SSAValue | None,
        mean: SSAValue | None,
        variance: SSAValue | None,
        /,
        use_input_stats: bool,
        momentum: float,
        eps: float,
        cudnn_enabled: bool,
    ) -> SSAValue:
        if not use_input_stats:
            return aten.batch_norm(x, weight, bias, mean, variance, False, momentum, eps, cudnn_enabled)
        shape = shape_of(x)
        return aten.native_group_norm.results(x, weight, bias, shape[0], shape[1], math.prod(shape[2:]), shape[1], eps)[0]
