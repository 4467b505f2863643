"""`convert-edge-to-fused`: replaces operators by the fused forms that the target has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i8
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from flambeau.dialects.aten.images.pool import MaxPool2dWithIndicesOp
from flambeau.dialects.aten.layers.attention import ScaledDotProductAttentionOp, scale_of
from flambeau.dialects.aten.layers.convolution import ConvolutionOp
from flambeau.dialects.aten.layers.norm import LayerNormOp, RmsNormOp
from flambeau.dialects.aten.movement.shape import ExpandOp
from flambeau.dialects.edge.dim_order import ToDimOrderCopyOp
from flambeau.dialects.edge.layout import CHANNELS_LAST, is_row_major, with_dim_order
from flambeau.dialects.fused.attention import CachedAttentionOp, FusedAttentionOp
from flambeau.dialects.fused.conv2d import FusedConv2dOp
from flambeau.dialects.fused.linear import FusedLinearOp
from flambeau.dialects.fused.norm import FusedLayerNormOp, FusedRmsNormOp
from flambeau.dialects.fused.packing import PANEL, pack_conv_weight, pack_gates, pack_linear_weight, panels
from flambeau.dialects.fused.pool import FusedMaxPool2dOp
from flambeau.dialects.fused.recurrent import FusedLstmStepOp
from flambeau.dialects.fused.weight_only import DequantizePackedOp
from flambeau.dialects.ir.tensor_types import element_of, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.causal_masks import causal_mask
from flambeau.passes.analysis.linear_layers import EDGE_PRODUCTS, linear_parts
from flambeau.passes.analysis.quantized_types import Quantized, QuantizedType, dequantized
from flambeau.passes.analysis.recurrent_steps import LstmStep
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.greedy_driver import apply_patterns
from flambeau.passes.rewriting.matching import Match
from flambeau.passes.rewriting.pattern_functions import Replacement, rewrites
from flambeau.passes.targets.interface import Target, TargetName, find_target
from flambeau.passes.tuning.choices import DEFAULT, ROW_MAJOR, TILES, convolution_name
from flambeau.passes.tuning.table import read_table
from flambeau.support.lazy import later, np

_LSTM = LstmStep()
_instruction_set = later("flambeau.runtime.binding.libraries:instruction_set")
_NOT_PLAIN = "stays: only row-major tensors of f32 have a faster form"


def _plain(*values: SSAValue | None) -> bool:
    """Returns whether every value is a row-major f32 tensor or None."""
    return all(value is None or (element_of(value) == f32 and is_row_major(value)) for value in values)


def _is_shared(weight: SSAValue) -> bool:
    """Returns whether something reads a weight that is no linear layer with it."""
    readers = [linear_parts(use.operation) for use in weight.uses]
    return any(parts is None or parts.weight is not weight for parts in readers)


def _has_columns(kind: QuantizedType) -> bool:
    """Returns whether `fused.dequantize_packed` dequantizes integers of this type."""
    return kind.storage == i8 and not any(kind.zero_points) and kind.axis in (None, 0)


def _pair(values: tuple[int, ...]) -> tuple[int, int]:
    return (values[0], values[-1])


def _expanded(value: SSAValue, leading: tuple[int, ...]) -> SSAValue:
    shape = (*leading, *shape_of(value)[len(leading) :])
    return value if shape_of(value) == shape else ExpandOp(value, shape).result


@dataclass(frozen=True)
class _Forms:
    """The rewrites to the fused forms of a target, which decline where it lacks one."""

    target: Target
    constants: ModuleConstants
    choices: Mapping[str, str]
    """How to compute operators, by their names."""

    def _has(self, form: type[SchemaOp]) -> bool:
        return self.target.has(form) or bool(decline(f"stays: the target {self.target.name!r} has no kernel for {form.name}"))

    def linear(self, op: SchemaOp) -> SchemaOp | None:
        """Packs the constant weight of edge.linear, mm or addmm in panels.

        A weight that something else reads as it is (an embedding that is also the last layer) is not stored a second time.
        """
        parts = linear_parts(op)
        if parts is None or not self._has(FusedLinearOp):
            return None
        x, weight, bias = parts.input, parts.weight, parts.bias
        array = self.constants.array(weight)
        if array is None:
            return decline("not packed: the weight is not a constant")
        if not _plain(x, weight, bias) or array.size == 0:
            return decline(_NOT_PLAIN)
        if _is_shared(weight):
            return decline("not packed: something else reads the weight as it is, which would be stored twice")
        columns = array.T if parts.transposed else array
        packed = pack_linear_weight(columns)
        load = self.constants.add(f"{self.constants.name(weight)}.packed", packed, tensor(f32, packed.shape))
        return FusedLinearOp(x, load.results[0], bias, None, columns.shape[0])

    def convolution(self, op: SchemaOp) -> SchemaOp | None:
        """Packs the constant weights of edge.convolution of images, dense or depthwise: channels-last between two changes of layout.

        Weights of int8 are packed as integers, and dequantized in that order.
        """
        arguments: list[Any] = op.arguments()
        x, weight, bias, stride, padding, dilation, transposed, _, groups = arguments
        integers = dequantized(weight, self.constants)
        source = weight if integers is None else integers.value
        array = self.constants.array(source)
        if not self._has(FusedConv2dOp):
            return None
        if not self.target.takes(CHANNELS_LAST):
            return decline(f"stays: {FusedConv2dOp.name} takes channels-last images, and kernels of the target {self.target.name!r} do not")
        if array is None:
            return decline("not packed: the weight is not a constant")
        if not _plain(x, weight, bias, op.result):
            return decline(_NOT_PLAIN)
        if transposed or array.ndim != 4:
            return decline("not packed: only two-dimensional convolutions that are not transposed are")
        if groups != 1 and not groups == shape_of(x)[1] == array.shape[0]:
            return decline("not packed: its channels are in groups, neither all in one nor one in each")
        if integers is not None and not _has_columns(integers.type):
            return decline("not packed: its weight is not of int8 with zero points of 0 and a scale for each output channel")
        name = convolution_name(x, array.shape, stride, padding, dilation, groups)
        choice = DEFAULT if name is None else self.choices.get(name, DEFAULT)
        if choice == ROW_MAJOR and integers is None:
            return decline("stays: the tuning table has it row-major")
        weights = pack_conv_weight(array, groups)
        packed = self.constants.add(f"{self.constants.name(source)}.packed", weights, tensor(element_of(source), weights.shape)).results[0]
        if integers is not None:
            packed = DequantizePackedOp(packed, self._scales(integers)).result
        fused = FusedConv2dOp(
            ToDimOrderCopyOp(x, dim_order=CHANNELS_LAST).result,
            packed,
            bias,
            None,
            tuple(array.shape[2:]),
            _pair(stride),
            _pair(padding),
            _pair(dilation),
            groups,
            array.shape[0],
            "none",
            TILES.get(choice, -1),
            result_types=[with_dim_order(op.result, CHANNELS_LAST)],
        )
        fused.result.name_hint = op.result.name_hint
        return ToDimOrderCopyOp(fused.result, dim_order=(0, 1, 2, 3))

    def _scales(self, integers: Quantized) -> SSAValue:
        """Returns the scales of the columns of a packed weight."""
        columns = shape_of(integers.value)[0]
        scales = np.zeros(panels(columns) * PANEL, np.float32)
        scales[:columns] = integers.type.scales
        return self.constants.add(f"{self.constants.name(integers.value)}.scales", scales, tensor(f32, scales.shape)).results[0]

    def attention(self, op: SchemaOp) -> SchemaOp | None:
        """Converts attention of four-dimensional f32 tensors, over a cache where the mask shows what is written of it."""
        query, key, value, mask, dropout, causal, scale, grouped = op.arguments()
        if not self._has(FusedAttentionOp):
            return None
        if dropout != 0.0 or not _plain(query, key, value, op.result) or len(shape_of(query)) != 4:
            return decline("not fused: only attention without dropout on row-major f32 tensors of four dimensions is")
        factor = scale_of(shape_of(query), scale)
        # A single key head is a group that all query heads share; other broadcast operands are expanded.
        batch, heads = shape_of(op.result)[:2]
        shared = heads if not grouped and shape_of(key)[1] == shape_of(value)[1] == 1 else 1
        groups = shape_of(key)[1] if grouped else heads // shared
        query, key, value = (_expanded(part, (batch, count)) for part, count in ((query, heads), (key, groups), (value, groups)))
        scores = (shape_of(query)[2], shape_of(key)[2])
        seen = causal_mask(mask, scores, self.constants) if mask is not None and self.target.has(CachedAttentionOp) else None
        if seen is not None:
            return CachedAttentionOp(query, key, value, seen.position, factor, seen.window)
        return FusedAttentionOp(query, key, value, mask, causal, factor, grouped or shared > 1)

    def norm(self, op: SchemaOp) -> SchemaOp | None:
        """Converts layer_norm and rms_norm of f32 tensors."""
        form = FusedLayerNormOp if isinstance(op, LayerNormOp) else FusedRmsNormOp
        if not self._has(form):
            return None
        if not _plain(*op.operands, op.result):
            return decline(_NOT_PLAIN)
        x, shape, weight, *rest = op.arguments()
        if isinstance(op, LayerNormOp):
            return FusedLayerNormOp(x, None, shape, weight, *rest[:2])
        # rms_norm's default epsilon is torch.finfo(float32).eps.
        return FusedRmsNormOp(x, None, shape, weight, 2.0**-23 if rest[0] is None else rest[0])

    def lstm_step(self, found: Match) -> Replacement:
        """Packs the constant weight of a step of long short-term memory, and computes its product and its gates at once."""
        hidden, weight, bias = found[_LSTM.product].arguments()
        memory, projected, size = found[_LSTM.memory], found[_LSTM.projected], shape_of(found[_LSTM.hidden].result)[-1]
        array = self.constants.array(weight)
        if not self._has(FusedLstmStepOp):
            return None
        if array is None:
            return decline("not packed: the weight is not a constant")
        if not _plain(hidden, memory, projected, weight, bias) or tuple(found[_LSTM.sizes]) != (size,) * 4:
            return decline(_NOT_PLAIN)
        if array.shape != (4 * size, size) or not shape_of(hidden) == shape_of(memory) == shape_of(found[_LSTM.hidden].result):
            return decline("not fused: only states of one shape [batch, size] without a projection are")
        if shape_of(projected) != (shape_of(memory)[0], 4 * size) or (bias is not None and shape_of(bias) != (4 * size,)):
            return decline("not fused: the projection of the input is broadcast")
        packed = pack_gates(array, 4)
        load = self.constants.add(f"{self.constants.name(weight)}.gates", packed, tensor(f32, packed.shape))
        step = FusedLstmStepOp(hidden, memory, projected, load.results[0], bias)
        return {found[_LSTM.hidden]: step.results[0], found[_LSTM.following]: step.results[1]}

    def max_pool(self, op: SchemaOp) -> SchemaOp | None:
        """Converts max pools of which nothing reads the places."""
        values, places = op.results
        if not self._has(FusedMaxPool2dOp):
            return None
        if any(places.uses):
            return decline("stays: something reads the places of the largest elements")
        return FusedMaxPool2dOp(*op.arguments(), result_types=[values.type])


@dataclass(frozen=True)
class ConvertEdgeToFusedPass(ModulePass):
    """Replaces operators by the `fused` ones that the target has: linear layers, convolutions, attention, norms, LSTM in f32; max pools.

    Constant weights are packed now, those of int8 that are dequantized as integers.

    Needs: `edge` operators. Leaves: `fused` operators, convolutions among them channels-last between two `edge._to_dim_order_copy`, which
    `propagate-layouts` moves outward. Operators with other dtypes or with weights that are not constants stay, and so do those
    whose fused form the target lacks.
    """

    name = "convert-edge-to-fused"
    works_on = ("edge", "fused")
    target: TargetName = "flambeau"
    """Whose fused forms are made."""
    tuning: str = ""
    """The file with choices of how to compute operators, which `flambeau tune` writes; without, the kernels choose."""
    isa: str = ""
    """Of `tuning`: the instruction set whose choices are taken, x86-64-v4; by default, that of this machine."""
    threads: int = 1
    """Of `tuning`: the number of threads whose choices are taken."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place. Raises TuningError for the file `tuning`."""
        forms = _Forms(find_target(self.target), ModuleConstants(ctx, op), self._choices())
        # First, while the product of the hidden state is a linear layer like others.
        apply_patterns(op, [rewrites(_LSTM.hidden, counter="steps of LSTM fused")(forms.lstm_step)])
        patterns = [
            *(rewrites(kind, counter="linear layers packed")(forms.linear) for kind in EDGE_PRODUCTS),
            rewrites(ConvolutionOp.at("edge"), counter="convolutions packed")(forms.convolution),
            rewrites(ScaledDotProductAttentionOp.at("edge"), counter="attentions converted")(forms.attention),
            *(rewrites(kind.at("edge"), counter="norms converted")(forms.norm) for kind in (LayerNormOp, RmsNormOp)),
            rewrites(MaxPool2dWithIndicesOp.at("edge"), counter="max pools without places")(forms.max_pool),
        ]
        apply_patterns(op, patterns)

    def _choices(self) -> Mapping[str, str]:
        if not self.tuning:
            return {}
        return read_table(self.tuning).choices(self.isa or _instruction_set(), self.threads)
