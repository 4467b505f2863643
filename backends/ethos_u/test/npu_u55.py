"""Runs the command streams of Ethos-U55 and U65 on numpy: DMA, convolutions, pools and functions of elements, bit for bit.

It uses Vela's names of registers and its decoder of weights, and runs in the Python that has Vela.

Source: the registers and enumerations of Vela, `ethos_u55_regs`; the order of weights of `mlw_codec`; Arm's Ethos-U55 technical reference.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Size = tuple[int, ...]

REGISTERS: Any = import_module("ethosu.vela.ethos_u55_regs.ethos_u55_regs")
CODEC: Any = import_module("ethosu.mlw_codec")
PARAMETERS: dict[int, str] = {item.value: item.name.removeprefix("NPU_") for item in REGISTERS.cmd0}
ADDRESSES: dict[int, str] = {item.value: item.name.removeprefix("NPU_SET_") for item in REGISTERS.cmd1}
ELEMENTWISE: dict[int, str] = {item.value: item.name for item in REGISTERS.elementwise_mode}
POOLS: dict[int, str] = {item.value: item.name for item in REGISTERS.pooling_mode}
BLOCKS_OF_CHANNELS = 16
INTERNAL = 1 << 8
FAST = 1 << 20
"""The bytes of the memory beside the NPU, which no other processor uses."""
TABLES = 2048
"""The bytes of tables of functions, the last of the memory inside."""
TYPES: dict[tuple[int, bool], type[np.integer[Any]]] = {
    (1, True): np.int8,
    (1, False): np.uint8,
    (2, True): np.int16,
    (2, False): np.uint16,
    (4, True): np.int32,
    (4, False): np.uint32,
    (8, True): np.int64,
}
LARGEST_SUM = np.int64(1) << 40


class Npu:
    """An Ethos-U55 or U65 with its registers and memories."""

    parameters, addresses = PARAMETERS, ADDRESSES

    def __init__(self, weights: bytes, scratch: int, macs: int):
        self.cores = macs // 256 or 1
        weight, scratches = np.frombuffer(weights, np.uint8).copy(), (np.zeros(size, np.uint8) for size in (scratch + 4096, FAST))
        self.memories: dict[int, Array] = dict(enumerate((weight, *scratches)))
        self.tables = np.zeros(TABLES, np.uint8)
        self.state: dict[str, int] = {}

    def run(self, words: Array) -> None:
        """Runs a command stream."""
        place = 0
        while place < len(words):
            word = int(words[place])
            code, value = word & 0x3FF, word >> 16
            if word >> 14 & 3:
                name = self.addresses[code]
                self.state[name] = int(words[place + 1]) | (value << 32 if "BASE" in name or "SRC" in name or "DST" in name else 0)
                self.state[f"{name}.SHIFT"] = value
                place += 2
                continue
            place += 1
            name = self.parameters[code]
            if name.startswith("SET_"):
                self.state[name.removeprefix("SET_")] = value
            elif name == "OP_STOP":
                return
            elif name not in ("OP_DMA_WAIT", "OP_KERNEL_WAIT", "OP_IRQ", "OP_PMU_MASK"):
                getattr(self, name.lower())(value)

    # Memory

    def signed(self, name: str) -> int:
        """Returns a parameter of 16 bits."""
        value = self.state.get(name, 0)
        return value - 65536 if value > 32767 else value

    def op_dma_start(self, value: int) -> None:
        """Copies bytes; those of tables of functions into the memory inside."""
        state = self.state
        start, end, size = state["DMA0_SRC"], state["DMA0_DST"], state["DMA0_LEN"]
        source = self.memories[state["DMA0_SRC_REGION"] & 7][start : start + size]
        if state["DMA0_DST_REGION"] & INTERNAL:
            end %= TABLES
            self.tables[end : end + size] = source
        else:
            self.memories[state["DMA0_DST_REGION"] & 7][end : end + size] = source

    def places(self, which: str, size: Size, element_bytes: int, is_blocked: bool) -> Array:
        """Returns the addresses of elements [height, width, depth], in up to four tiles."""
        state = self.state
        y, x, c = np.ogrid[: size[0], : size[1], : size[2]]
        wide, tall, right = (state[f"{which}_{name}_M1"] + 1 for name in ("WIDTH0", "HEIGHT0", "HEIGHT1"))
        is_right = x >= wide
        is_low = y >= np.where(is_right, right, tall)
        bases = np.array([state[f"{which}_BASE{index}"] for index in range(4)], np.int64)
        base = bases[np.where(is_low, 2, 0) + np.where(is_right, 1, 0)]
        y = np.where(is_low, y - np.where(is_right, right, tall), y)
        x = np.where(is_right, x - wide, x)
        found = base + y * state[f"{which}_STRIDE_Y"] + x * state[f"{which}_STRIDE_X"]
        if is_blocked:
            depth = c // BLOCKS_OF_CHANNELS * state[f"{which}_STRIDE_C"] + c % BLOCKS_OF_CHANNELS * element_bytes
        else:
            depth = c * element_bytes
        return found + depth

    def feature_map(self, which: str, size: Size) -> Array:
        """Returns elements [height, width, depth] as int64, less the zero point."""
        kind = self.state[f"{which}_PRECISION"]
        element_bytes, is_signed, is_blocked = 1 << (kind >> 2 & 3), bool(kind & 1), bool(kind >> 6 & 3)
        memory = self.memories[self.state[f"{which}_REGION"] & 7]
        places = np.broadcast_to(self.places(which, size, element_bytes, is_blocked), size)
        raw = memory[places[..., None] + np.arange(element_bytes)]
        values = np.ascontiguousarray(raw).view(TYPES[element_bytes, is_signed])[..., 0].astype(np.int64)
        return values - (self.signed(f"{which}_ZERO_POINT") if is_signed else self.state[f"{which}_ZERO_POINT"])

    def size_of_output(self) -> Size:
        """Returns the height, the width and the depth."""
        return tuple(self.state[f"OFM_{name}_M1"] + 1 for name in ("HEIGHT", "WIDTH", "DEPTH"))

    def store(self, sums: Array, scale: Any = None, shift: Any = None) -> None:
        """Scales sums, adds the zero point, limits them or looks them up, and writes them."""
        state = self.state
        kind = state["OFM_PRECISION"]
        element_bytes, is_signed, is_blocked = 1 << (kind >> 1 & 3), bool(kind & 1), bool(kind >> 6 & 3)
        if scale is None:
            scale, shift = state["OFM_SCALE"], state["OFM_SCALE.SHIFT"] & 63
        values = scaled(sums, scale, shift, kind >> 14 & 3) + self.signed("OFM_ZERO_POINT")
        function = state["ACTIVATION"] & 0xFFF
        low, high = (self.signed(f"ACTIVATION_{end}") for end in ("MIN", "MAX"))
        if element_bytes < 4:
            values = np.clip(values, low, high)
        if function >= 16:
            table = self.tables.view(np.int8)[(function - 16) * 256 :][:256]
            values = table[values - (-128 if is_signed else 0)].astype(np.int64)
        kept = np.ascontiguousarray(values.astype(TYPES[element_bytes, is_signed])[..., None]).view(np.uint8)
        memory = self.memories[state["OFM_REGION"] & 7]
        places = np.broadcast_to(self.places("OFM", sums.shape, element_bytes, is_blocked), sums.shape)
        memory[places[..., None] + np.arange(element_bytes)] = kept

    # Operators

    def windows(self, fill: int = 0) -> tuple[Array, Array]:
        """Returns the input of each product: [height, width, kernel height, kernel width, depth], and which of them are inside."""
        state = self.state
        steps = state["KERNEL_STRIDE"]
        stride = ((steps >> 1 & 1) + (steps >> 9 & 7) * 2 + 1, (steps & 1) + (steps >> 6 & 7) * 2 + 1)
        gaps = (steps >> 4 & 1) + 1, (steps >> 3 & 1) + 1
        kernel = state["KERNEL_HEIGHT_M1"] + 1, state["KERNEL_WIDTH_M1"] + 1
        pad = [state[f"IFM_PAD_{side}"] & 0xFF for side in ("TOP", "BOTTOM", "LEFT", "RIGHT")]
        height, width, _ = self.size_of_output()
        upscale = state.get("IFM_UPSCALE", 0)
        sides = [(out - 1) * step + taps for out, step, taps in zip((height, width), stride, kernel, strict=True)]
        sizes = [side - sum(around) for side, around in zip(sides, (pad[:2], pad[2:]), strict=True)]
        stored = [-(-size // 2) for size in sizes] if upscale else sizes
        image = self.feature_map("IFM", (*stored, state["IFM_DEPTH_M1"] + 1))
        if upscale:
            image = grown(image, upscale)[: sizes[0], : sizes[1]]
        around = [(pad[0], pad[1]), (pad[2], pad[3]), (0, 0)]
        inside = np.pad(np.ones(image.shape[:2], bool), around[:2])
        image = np.pad(image, around, constant_values=fill)
        rows, columns = (
            np.arange(count)[:, None] * step + np.arange(0, taps, gap)
            for count, step, taps, gap in zip((height, width), stride, kernel, gaps, strict=True)
        )
        picked = rows[:, None, :, None], columns[None, :, None, :]
        return image[picked], inside[picked]

    def weights(self, depthwise: bool, size: Size) -> Array:
        """Returns decoded weights [outputs, kernel height, kernel width, inputs], of a stream for each core."""
        state, found = self.state, np.zeros(size, np.int64)
        is_partial = bool(state["KERNEL_STRIDE"] & 4) and not depthwise
        is_wide = state["IFM_PRECISION"] >> 2 & 3 == 1
        for core in range(min(self.cores, size[0])):
            own = np.zeros_like(found[core :: self.cores])
            block = (state["OFM_BLK_DEPTH_M1"] + self.cores - core) // self.cores
            order = traversal(own.shape, block, depthwise, is_partial, is_wide, 4 if state["KERNEL_STRIDE"] & 32 else 8)
            filled(own, order, np.array(CODEC.decode(bytearray(self.coded("WEIGHT", core).tobytes())), np.int64))
            found[core :: self.cores] = own
        return found

    def coded(self, which: str, core: int) -> Array:
        """Returns the bytes of the weights or scales of a core."""
        prefix = f"{which}{core}" if core else which
        start, count = self.state[f"{prefix}_BASE"], self.state[f"{prefix}_LENGTH"]
        return self.memories[self.state[f"{which}_REGION"] & 7][start : start + count]

    def scales(self, count: int) -> tuple[Array, Array, Array]:
        """Returns biases, multipliers and shifts of outputs, ten bytes each, of a stream for each core."""
        raw = np.zeros((count, 10), np.int64)
        for core in range(min(self.cores, count)):
            many = len(raw[core :: self.cores])
            raw[core :: self.cores] = self.coded("SCALE", core)[: 10 * many].reshape(many, 10)
        bias, multipliers = (number(raw[:, a:b]) for a, b in ((0, 5), (5, 9)))
        return np.where(bias >= LARGEST_SUM >> 1, bias - LARGEST_SUM, bias), multipliers, raw[:, 9] & 63

    def op_conv(self, value: int) -> None:
        """Computes a convolution."""
        self.convolution(False)

    def op_depthwise(self, _: int) -> None:
        """Computes a convolution of each channel."""
        self.convolution(True)

    def sums_of_products(self, depthwise: bool) -> Array:
        """Returns the sums of products [height, width, depth]."""
        image, _ = self.windows()
        outputs = self.size_of_output()[2]
        taps = image.shape[2:4]
        weight = self.weights(depthwise, (outputs, *taps, 1 if depthwise else image.shape[4]))
        inputs = image.astype(np.float64)  # which holds each sum of products of bytes
        if depthwise:
            sums = np.einsum("yxabc,cab->yxc", inputs, weight[..., 0].astype(np.float64))
        else:
            sums = inputs.reshape(*image.shape[:2], -1) @ weight.reshape(outputs, -1).T.astype(np.float64)
        return np.rint(sums).astype(np.int64)

    def convolution(self, depthwise: bool) -> None:
        """Computes sums of products; each is scaled by its output's multiplier."""
        sums = self.sums_of_products(depthwise)
        bias, scale, shift = self.scales(sums.shape[2])
        sums += bias
        if self.state["OFM_PRECISION"] >> 8 & 1:
            self.store(sums)
        else:
            self.store(sums, scale, shift)

    def op_pool(self, mode: int) -> None:
        """Computes the largest elements, the means or the sums of windows, or the sums of depths."""
        name = POOLS[mode]
        if name == "MAX":
            self.store(self.windows(-(1 << 31))[0].max((2, 3)))
            return
        image, inside = self.windows()
        if name == "REDUCE_SUM":
            self.store(image.sum((2, 3, 4))[..., None])
        elif self.state["OFM_PRECISION"] >> 8 & 1:
            self.store(image.sum((2, 3)))
        else:
            counts = inside.sum((2, 3))[..., None]
            bits = np.ceil(np.log2(counts)).astype(np.int64)
            self.store(image.sum((2, 3)), (((1 << 30) + 1) << bits) // counts, 30 + bits)

    def op_elementwise(self, mode: int) -> None:
        """Computes a function of the elements of one or two maps."""
        name, size = ELEMENTWISE[mode], self.size_of_output()
        first = self.feature_map("IFM", size)
        if name in ("ABS", "LRELU", "CLZ"):
            self.of_one(name, first)
            return
        state = self.state
        how = state["IFM2_BROADCAST"]
        if how & 128:
            second = np.array(self.signed("IFM2_SCALAR")) - self.signed("IFM2_ZERO_POINT")
        else:
            second = self.feature_map("IFM2", tuple(1 if how >> index & 1 else side for index, side in enumerate(size)))
        if how & 64:
            first, second = second, first
        match name:
            case "ADD" | "SUB":
                first, second = self.operands(first, second)
                self.store(np.broadcast_to(first + second if name == "ADD" else first - second, size))
            case "MUL":
                self.store(np.broadcast_to(first * second, size))
            case "MIN" | "MAX":
                self.store(np.broadcast_to((np.minimum if name == "MIN" else np.maximum)(first, second), size))
            case "SHL":
                self.store(np.broadcast_to(first << second, size), 1, 0)
            case _:
                shifted = np.where(second > 0, first + (np.int64(1) << np.maximum(second - 1, 0)), first) >> second
                self.store(np.broadcast_to(shifted, size), 1, 0)

    def of_one(self, name: str, x: Array) -> None:
        """Computes a function of the elements of one map."""
        match name:
            case "ABS":
                self.store(np.abs(x))
            case "CLZ":
                bits = np.array([32 - int(value & 0xFFFFFFFF).bit_length() for value in x.reshape(-1)]).reshape(x.shape)
                self.store(bits, 1, 0)
            case _:
                scale, shift = self.state["OFM_SCALE"], self.state["OFM_SCALE.SHIFT"] & 63
                self.store(np.where(x < 0, scaled(x, scale, shift, 2), x), 1, 0)

    def operands(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Returns the operands of a sum with one scale."""
        state = self.state
        kind = state["IFM_PRECISION"]
        is_wide = kind >> 2 & 3
        if is_wide == 2:
            return first, second
        more, way = 14 if is_wide else 19, kind >> 8 & 3
        one, two = state["OPA_SCALE"], state["OPB_SCALE"]
        if way == 0:
            return first * one, second * two
        scaled_operand = scaled(first if way == 1 else second, one, state["OPA_SCALE.SHIFT"] & 63, kind >> 14 & 3)
        return (scaled_operand, second << more) if way == 1 else (first << more, scaled_operand)


def filled(weights: Array, order: Array, values: Array) -> None:
    """Fills weights with those of a stream, of which each has a place, or -1 for a filling."""
    if len(values) < len(order):
        raise ValueError(f"{len(values)} weights are decoded, and {len(order)} are read")
    known = order >= 0
    weights.reshape(-1)[order[known]] = values[: len(order)][known]
    if values[: len(order)][~known].any():
        raise ValueError("a weight beyond the kernel is not 0")


def number(octets: Array) -> Array:
    """Returns the number of each row of bytes, of which the first is the lowest."""
    return octets @ (np.int64(1) << 8 * np.arange(octets.shape[1], dtype=np.int64))


def scaled(x: Any, scale: Any, shift: Any, rounding: int) -> Array:
    """Returns x * scale / 2 ** shift, rounded: halves up (2, natural), halves away from zero (0), or towards zero (1)."""
    product: Array = np.asarray(x, np.int64) * np.asarray(scale, np.int64)
    count: Array = np.asarray(shift, np.int64)
    half: Array = (np.int64(1) << count) >> 1
    if rounding == 2:
        return (product + half) >> count
    size: Array = np.abs(product)
    rounded: Array = (size if rounding == 1 else size + half) >> count
    return np.where(product < 0, -rounded, rounded)


def grown(image: Array, way: int) -> Array:
    """Returns an image of twice the height and width, with copies of each element (1) or zeros beside it."""
    if way == 1:
        return image.repeat(2, 0).repeat(2, 1)
    found = np.zeros((image.shape[0] * 2, image.shape[1] * 2, image.shape[2]), image.dtype)
    found[::2, ::2] = image
    return found


def traversal(size: Size, block: int, depthwise: bool, is_partial: bool, is_wide: bool, part: int) -> Array:
    """Returns the place in [outputs, height, width, inputs] of each weight of a stream in its order; -1 for a filling."""
    outputs, height, width, inputs = size
    blocks_of_inputs = 16 if is_partial or is_wide else 32
    found: list[Array] = []
    places = np.arange(np.prod(size)).reshape(size)
    for z in range(0, outputs, block):
        deep = min(block, outputs - z)
        for i in range(0, inputs, blocks_of_inputs):
            many = min(blocks_of_inputs, inputs - i)
            for top in range(0, height, part):
                tall = min(part, height - top)
                for left in range(0, width, part):
                    wide = min(part, width - left)
                    taps = places[z : z + deep, top : top + tall, left : left + wide, i : i + many].reshape(deep, tall * wide, many)
                    found.append(brick(taps, depthwise, is_partial, is_wide, 8 if is_partial else blocks_of_inputs))
    return np.concatenate(found)


def brick(taps: Array, depthwise: bool, is_partial: bool, is_wide: bool, multiple: int) -> Array:
    """Returns [outputs, taps, inputs] in the order of a block: of 8 outputs and 8 inputs, one tap or one part of inputs after the other."""
    outputs, count, inputs = taps.shape
    more = 0
    if is_partial:
        more = -count % (2 if is_wide else 4)
    elif depthwise:
        more = -count % 4
    padded = np.pad(taps, ((0, -outputs % 8), (0, more), (0, 0 if depthwise else -inputs % multiple)), constant_values=-1)
    outputs, count, inputs = padded.shape
    deep = 1 if depthwise else 8
    parts = padded.reshape(outputs // 8, 8, count, inputs // deep, deep)  # outputs, output, tap, inputs, input
    order = (3, 0, 2, 1, 4) if is_partial else (0, 2, 3, 1, 4)
    return parts.transpose(order).reshape(-1)
