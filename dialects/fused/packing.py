"""Weights in the order that the matrix kernels read them: panels of 16 output columns."""

from __future__ import annotations

from typing import cast

from flambeau.support.lazy import Array, np

PANEL = 16
"""Columns of a panel: one 512-bit vector of floats, two of 256 bits, four of 128."""

QUAD = 4
"""Products of 8-bit integers that processors add at once."""


def panels(columns: int) -> int:
    """Returns the number of panels for `columns` columns; the last one may be padded with zeros."""
    return -(-columns // PANEL)


def pack_linear_weight(weight: Array) -> Array:
    """Reorders [columns, depth] into [panels, depth, PANEL]."""
    columns, depth = weight.shape
    padded = np.zeros((panels(columns) * PANEL, depth), weight.dtype)
    padded[:columns] = weight
    return np.ascontiguousarray(padded.reshape(-1, PANEL, depth).transpose(0, 2, 1))


def unpack_linear_weight(packed: Array, columns: int) -> Array:
    """Reorders [panels, depth, PANEL] into [columns, depth]."""
    return packed.transpose(0, 2, 1).reshape(-1, packed.shape[1])[:columns]


def pack_conv_weight(weight: Array, groups: int) -> Array:
    """Returns the weight of a 2-D convolution, [out channels, in channels / groups, height, width].

    Dense (`groups` 1): [panels, height * width * in channels, PANEL], the depth ordered by (height, width, channel).
    Depthwise: [height * width, channels padded to whole panels].
    """
    out_channels, in_channels, height, width = weight.shape
    if groups == 1:
        return pack_linear_weight(weight.transpose(0, 2, 3, 1).reshape(out_channels, height * width * in_channels))
    packed = np.zeros((height * width, panels(out_channels) * PANEL), weight.dtype)
    packed[:, :out_channels] = weight.reshape(out_channels, height * width).T
    return packed


def unpack_conv_weight(packed: Array, kernel_size: tuple[int, int], groups: int, out_channels: int) -> Array:
    """Returns the inverse of `pack_conv_weight`."""
    height, width = kernel_size
    if groups == 1:
        flat = unpack_linear_weight(packed, out_channels)
        return flat.reshape(out_channels, height, width, -1).transpose(0, 3, 1, 2)
    return cast(Array, packed[:, :out_channels].T.reshape(out_channels, 1, height, width))


def pack_quads(weight: Array) -> Array:
    """Reorders [columns, depth] into [panels, depth / QUAD rounded up, PANEL, QUAD], with zeros beyond: the order of integer products."""
    columns, depth = weight.shape
    quads = -(-depth // QUAD)
    padded = np.zeros((panels(columns) * PANEL, quads * QUAD), weight.dtype)
    padded[:columns, :depth] = weight
    return np.ascontiguousarray(padded.reshape(-1, PANEL, quads, QUAD).transpose(0, 2, 1, 3))


def unpack_quads(packed: Array, columns: int, depth: int) -> Array:
    """Returns the inverse of `pack_quads`."""
    whole = packed.transpose(0, 2, 1, 3)
    return whole.reshape(whole.shape[0] * PANEL, -1)[:columns, :depth]


def pack_quantized_conv_weight(weight: Array, groups: int) -> Array:
    """Returns the integers of a 2-D convolution, [out channels, in channels / groups, height, width].

    Dense (`groups` 1): as `pack_quads` does it, the depth ordered by (height, width, channel). Depthwise: [height * width, channels].
    """
    out_channels, _, height, width = weight.shape
    if groups == 1:
        return pack_quads(weight.transpose(0, 2, 3, 1).reshape(out_channels, -1))
    return np.ascontiguousarray(weight.reshape(out_channels, height * width).T)


def pack_gates(weight: Array, gates: int) -> Array:
    """Reorders [gates * size, depth] into [panels of size, depth, gates * PANEL]: of a block of a state, all gates lie together."""
    size, depth = weight.shape[0] // gates, weight.shape[1]
    padded = np.zeros((gates, panels(size) * PANEL, depth), weight.dtype)
    padded[:, :size] = weight.reshape(gates, size, depth)
    return np.ascontiguousarray(padded.reshape(gates, -1, PANEL, depth).transpose(1, 3, 0, 2).reshape(-1, depth, gates * PANEL))


def unpack_gates(packed: Array, gates: int, size: int) -> Array:
    """Returns the inverse of `pack_gates`."""
    blocks, depth = packed.shape[:2]
    apart = packed.reshape(blocks, depth, gates, PANEL).transpose(2, 0, 3, 1).reshape(gates, blocks * PANEL, depth)
    return apart[:, :size].reshape(gates * size, depth)
