"""Runs the command streams of Ethos-U85 on numpy, as `npu_u55` does those of the smaller accelerators.

What no stream of the tests and campaigns has raises NotImplementedError: copies by indices, functions of tables and elements beyond those
here, operands that are rounded twice, fast weights of several cores.

Source: the registers, the generator of commands and the encoder of weights of Vela 5.2, in `ethosu/regor` of its source distribution.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from npu_u55 import ADDRESSES, CODEC, PARAMETERS, TYPES, Array, Npu, Size, filled, number

REGISTERS = PARAMETERS | {
    7: "OP_RESIZE",
    264: "SET_IFM_BROADCAST",
    298: "SET_RESIZE_X_SCALE_N_M1",
    299: "SET_RESIZE_Y_SCALE_N_M1",
    300: "SET_RESIZE_X_OFFSET",
    301: "SET_RESIZE_Y_OFFSET",
    302: "SET_WEIGHT_FORMAT",
}
LONG_REGISTERS = ADDRESSES | {
    37: "IFM_SCALE",
    38: "IFM2_SCALE",
    39: "OP_SCALAR",
    51: "DMA0_SRC_STRIDE0",
    52: "DMA0_SRC_STRIDE1",
    53: "DMA0_DST_STRIDE0",
    54: "DMA0_DST_STRIDE1",
    146: "WEIGHT2_BASE",
    147: "WEIGHT2_LENGTH",
    148: "WEIGHT3_BASE",
    149: "WEIGHT3_LENGTH",
    150: "RESIZE_X",
    151: "RESIZE_Y",
}
ELEMENTWISE = dict(enumerate("MUL ADD SUB MIN MAX LRELU ABS CLZ SHR SHL LSR DIV".split())) | {
    16: "EQ",
    17: "NE",
    18: "GE",
    19: "GT",
    33: "AND",
    34: "OR",
    35: "XOR",
    36: "NOT",
    42: "AND_NOT",
}
OF_ONE = ("LRELU", "ABS", "CLZ", "NOT")
POOLS = "MAX AVERAGE REDUCE_SUM SUM NONE MIN".split()
CHAINED, NOWHERE = 2, 3
MICROBLOCKS = (1, 2, 4, 4, 8, 16)
"""The pixels that are computed at once, by the number of their form."""
AXES = {0: (0, 1, 2), 1: (1, 0, 2), 2: (0, 2, 1), 3: (1, 2, 0), 6: (2, 0, 1), 7: (2, 1, 0)}
TOGETHER, LARGEST = 4, 8
"""Outputs beside each other in a stream of weights, and the longest side of a part of a kernel."""


class Npu85(Npu):
    """An Ethos-U85. A chain is a memory inside through which an operation hands its result to the next one."""

    parameters, addresses = REGISTERS, LONG_REGISTERS

    def __init__(self, weights: bytes, scratch: int, macs: int):
        super().__init__(weights, scratch, macs)
        self.macs, self.cores = macs, min(self.cores, 4)
        self.chains: dict[int, Array] = {}
        self.kept: Array = np.zeros(0, np.int64)
        self.is_product = False

    def op_dma_start(self, value: int) -> None:
        """Copies bytes, rows of them or planes of rows."""
        state = self.state
        kind = state["DMA0_SRC_REGION"] >> 9 & 3
        if (state["DMA0_SRC_REGION"] | state["DMA0_DST_REGION"]) >> 11 & 1:
            raise NotImplementedError("copies of places that an index tells")
        start, end = state["DMA0_SRC"], state["DMA0_DST"]
        for plane, row in product(range(state["DMA0_SIZE1"] if kind == 2 else 1), range(state["DMA0_SIZE0"] if kind else 1)):
            for name, first in (("SRC", start), ("DST", end)):
                state[f"DMA0_{name}"] = first
                for number_of, index in ((row, 0), (plane, 1)):
                    state[f"DMA0_{name}"] += number_of * state[f"DMA0_{name}_STRIDE{index}"] if number_of else 0
            super().op_dma_start(value)
        state["DMA0_SRC"], state["DMA0_DST"] = start, end

    # Elements

    def feature_map(self, which: str, size: Size) -> Array:
        """Returns elements [height, width, depth] as int64, less the zero point: of a memory, of a chain, or one number."""
        storage, zero = self.state[f"{which}_PRECISION"] >> 14, self.signed(f"{which}_ZERO_POINT")
        if storage == CHAINED:
            return self.chains[self.state[f"{which}_REGION"] & 7] - zero
        if storage == NOWHERE:
            return np.array(int(np.int32(np.uint32(self.state["OP_SCALAR"]))), np.int64) - zero
        return super().feature_map(which, size)

    def store(self, sums: Array, scale: Array | None = None, shift: Array | None = None) -> None:
        """Scales sums, adds the zero point, limits them or looks them up, and writes them or hands them on."""
        state = self.state
        kind, how, activation = state["OFM_PRECISION"], state["OFM_SCALE.SHIFT"], state["ACTIVATION"]
        element = TYPES[1 << (kind >> 1 & 3), bool(kind & 1)]
        if scale is None or shift is None:
            scale, shift = np.array(state["OFM_SCALE"]), np.array(how & 63)
        values = rounded(sums, scale, shift, how >> 13) + self.signed("OFM_ZERO_POINT")
        if not activation >> 12 & 1:
            is_signed = bool(kind & 1)
            low, high = (self.signed(f"ACTIVATION_{end}") if is_signed else state[f"ACTIVATION_{end}"] for end in ("MIN", "MAX"))
            values = np.clip(values, low, high)
        if activation & 31:
            values = self.looked_up(values, activation & 31, activation >> 5 & 7)
        if kind >> 14 == CHAINED:
            self.chains[state["OFM_REGION"] & 7] = values
        elif kind >> 14 != NOWHERE:
            if kind >> 9 & 3:
                values = np.flip(values, (kind >> 9 & 3) - 1)
            values = values.transpose(AXES[kind >> 11 & 7])
            kept = np.ascontiguousarray(values.astype(element)[..., None]).view(np.uint8)
            places = np.broadcast_to(self.places("OFM", values.shape, kept.shape[-1], bool(kind >> 6 & 3)), values.shape)
            self.memories[state["OFM_REGION"] & 7][places[..., None] + np.arange(kept.shape[-1])] = kept

    def looked_up(self, values: Array, function: int, index: int) -> Array:
        """Returns what a table says of bytes."""
        if function in (8, 9):  # lines: each of a height in 16 bits and a slope
            line, part = self.tables.view(np.int16).reshape(-1, 2)[(values + (1 << 15)) >> 7].astype(np.int64), values & 127
            found = (line[..., 0] << 7) + line[..., 1] * part
            return found if function == 9 else (found + 64) >> 7
        kinds = {1: (np.uint8, 0), 4: (np.int8, 128), 5: (np.int16, 128), 7: (np.int32, 128)}
        if function not in kinds:
            raise NotImplementedError(f"function {function} of a table")
        element, offset = kinds[function]
        return self.tables.view(element)[index * 256 :][values + offset].astype(np.int64)

    def op_elementwise(self, mode: int) -> None:
        """Computes a function of the elements of one or two maps."""
        name, size = ELEMENTWISE[mode], self.size_of_output()
        first = self.operand("IFM", size, name != "LRELU")
        second = None if name in OF_ONE else self.operand("IFM2", size)
        self.store(np.broadcast_to(self.function(name, first, second), size))

    def operand(self, which: str, size: Size, is_scaled: bool = True) -> Array:
        """Returns an operand of a function of elements."""
        how = self.state[f"{which}_BROADCAST"]
        values = self.feature_map(which, tuple(1 if how >> index & 1 else side for index, side in enumerate(size)))
        return self.scaled_by(which, values) if is_scaled else values

    def scaled_by(self, which: str, values: Array) -> Array:
        """Returns values by the scale of an operand."""
        scale, how = self.state[f"{which}_SCALE"], self.state[f"{which}_SCALE.SHIFT"]
        if how >> 6 & 31:
            raise NotImplementedError("operands that are rounded twice")
        return rounded(values, np.array(scale), np.array(how & 63), how >> 13 & 1)

    def function(self, name: str, x: Array, y: Array | None) -> Array:
        """Returns a function of elements."""
        if y is None:
            match name:
                case "ABS":
                    return np.abs(x)
                case "NOT":
                    return ~x
                case "LRELU":
                    return np.where(x < 0, self.scaled_by("IFM2", x), self.scaled_by("IFM", x))
                case _:
                    bits = [32 - int(value & 0xFFFFFFFF).bit_length() for value in x.reshape(-1)]
                    return np.array(bits, np.int64).reshape(x.shape)
        match name:
            case "MUL":
                return x * y
            case "ADD":
                return x + y
            case "SUB":
                return x - y
            case "MIN":
                return np.minimum(x, y)
            case "MAX":
                return np.maximum(x, y)
            case "SHL":
                return x << y
            case "SHR":
                return rounded(x, np.array(1), y, self.state["OFM_SCALE.SHIFT"] >> 13)
            case "LSR":
                return (x & 0xFFFFFFFF) >> y
            case "AND":
                return x & y
            case "OR":
                return x | y
            case "XOR":
                return x ^ y
            case "AND_NOT":
                return x & ~y
            case "EQ" | "NE" | "GE" | "GT":
                compare = {"EQ": np.equal, "NE": np.not_equal, "GE": np.greater_equal, "GT": np.greater}[name]
                return compare(x, y).astype(np.int64)
            case _:
                raise NotImplementedError(f"the function {name}")

    # Windows

    def op_pool(self, mode: int) -> None:
        """Computes the largest or least elements, the means or the sums of windows, or hands on elements."""
        name = POOLS[mode]
        if name == "NONE":
            self.finish(self.feature_map("IFM2", self.size_of_output()))
        elif name in ("MAX", "MIN"):
            largest = name == "MAX"
            image = self.windows(-(1 << 31) if largest else 1 << 31)[0]
            self.finish(image.max((2, 3)) if largest else image.min((2, 3)))
        elif name == "REDUCE_SUM":
            self.finish(self.windows()[0].sum((2, 3, 4))[..., None])
        else:
            image, inside = self.windows()
            sums = image.sum((2, 3))
            if name == "AVERAGE" and image.shape[2:4] != (1, 1):
                counts = inside.sum((2, 3))[..., None]
                bits = np.ceil(np.log2(counts)).astype(np.int64)
                sums = rounded(sums, (((1 << 30) + 1) << bits) // counts, 30 + bits, 1)
            self.finish(sums)

    def finish(self, values: Array) -> None:
        """Stores values by the one scale, or by those of channels with biases."""
        if self.state["OFM_PRECISION"] >> 8 & 1:
            self.store(values)
        else:
            bias, scale, shift = self.scales(values.shape[2])
            self.store(values + bias, scale, shift)

    def op_conv(self, value: int) -> None:
        """Computes a convolution, perhaps with weights that are a map of outputs and inputs."""
        self.is_product = bool(value & 1)
        super().op_conv(value)

    def convolution(self, depthwise: bool) -> None:
        """Computes sums of products, perhaps upon others; keeps them for the next operation, or stores them."""
        sums = self.sums_of_products(depthwise)
        how = self.state["ACC_FORMAT"]
        if how >> 4 & 3:
            sums = sums + (self.kept if how >> 4 & 3 == 1 else self.feature_map("IFM2", sums.shape))
        if how >> 6 & 1:
            self.kept = sums
        else:
            self.finish(sums)

    def scales(self, count: int) -> tuple[Array, Array, Array]:
        """Returns biases, multipliers and shifts of outputs, ten bytes each."""
        many = 6 if self.state["ACC_FORMAT"] & 3 else 4
        raw = self.coded("SCALE", 0)[: 10 * count].reshape(count, 10).astype(np.int64)
        bias, least = number(raw[:, :many]), np.int64(1) << (8 * many - 1)
        return (bias ^ least) - least, number(raw[:, many:8]), raw[:, 8] & 63

    def weights(self, depthwise: bool, size: Size) -> Array:
        """Returns decoded weights [outputs, kernel height, kernel width, inputs], of a stream for each core."""
        if self.is_product and not depthwise:
            return self.feature_map("IFM2", (1, size[0], size[3]))[0][:, None, None]
        found = np.zeros(size, np.int64)
        is_fast = bool(self.state["WEIGHT_FORMAT"] & 1)
        cores = 1 if is_fast else self.cores
        if is_fast and self.cores > 1:
            raise NotImplementedError("fast weights of several cores")
        for core in range(cores):
            coded = self.coded("WEIGHT", core)
            values = fast_weights(coded) if is_fast else np.array(CODEC.decode(bytearray(coded.tobytes())), np.int64)
            filled(found, np.concatenate([part.reshape(-1) for part in self.traversal(depthwise, size, core, cores)]), values)
        return found

    def traversal(self, depthwise: bool, size: Size, core: int, cores: int) -> Iterator[Array]:
        """Yields the places in [outputs, height, width, inputs] of the weights of a stream in their order; -1 for fillings."""
        outputs, height, width, inputs = size
        state = self.state
        steps, is_wide = state["KERNEL_STRIDE"], state["IFM_PRECISION"] >> 2 & 3 == 1
        is_sparse = bool(state["WEIGHT_FORMAT"] >> 4 & 1)  # two of four beside each other are 0, and stand in the stream too
        block, micro = state["OFM_BLK_DEPTH_M1"] + 1, self.macs // 8 // MICROBLOCKS[state["ACC_FORMAT"] >> 8 & 7]
        is_partial = bool(steps & 4) and not depthwise
        if is_sparse:
            deep = 16 if is_partial else 64 if is_wide else 128
        else:
            deep = 1 if depthwise else 16 if is_partial else 32 if self.macs <= 256 and micro == 16 else 64
        at_once = 8 if is_partial and is_wide and not is_sparse else deep
        multiple = 10 if depthwise or (is_partial and (is_wide or is_sparse)) else 5 if is_partial else 1
        more = (0 if not is_wide and self.macs <= 256 else 2 if self.macs <= 512 else 6) if depthwise else 0
        stride = (
            ((steps >> 1 & 1) + (steps >> 9 & 1) * 2 + 1, (steps & 1) + (steps >> 6 & 1) * 2 + 1) if depthwise or is_partial else (1, 1)
        )
        part = LARGEST // ((steps >> 4 & 1) + 1), LARGEST // ((steps >> 3 & 1) + 1)
        inner = 1 if depthwise else 16 if is_sparse else 8
        places = np.full((outputs + micro, height, width, inputs + deep), -1)
        places[:outputs, :, :, :inputs] = np.arange(np.prod(size)).reshape(size)
        starts = list(range(0, inputs, deep))
        for z in range(0, outputs, block):
            for i in starts:
                clipped = 1 if depthwise else min(deep, inputs - i)
                for left, top in product(range(0, width, part[1]), range(0, height, part[0])):
                    window = places[:, top : top + part[0], left : left + part[1]]
                    for inward, outward in product(range(i, i + clipped, at_once), range(z, min(z + block, outputs), micro)):
                        taps = window[outward : outward + micro, :, :, inward : inward + at_once]
                        yield from brick(taps, stride, multiple, more, inner, (core, cores))
            starts.reverse()

    def op_resize(self, mode: int) -> None:
        """Computes an image of another size, of the nearest elements or between two rows and columns of them."""
        state, size = self.state, self.size_of_output()
        stored = state["KERNEL_HEIGHT_M1"] + 1, state["KERNEL_WIDTH_M1"] + 1
        image = self.feature_map("IFM", (*stored, size[2]))
        lower: list[Array] = []
        fractions: list[Array] = []
        units: list[int] = []
        for axis, side in zip("YX", size, strict=False):
            unit = state[f"RESIZE_{axis}_SCALE_N_M1"] + 1
            step = (state[f"RESIZE_{axis}.SHIFT"] & 15) * unit + (state[f"RESIZE_{axis}"] & 0x7FF)
            place = np.arange(side) * step + (((state[f"RESIZE_{axis}_OFFSET"] & 0xFFF) ^ 0x800) - 0x800)
            lower.append(place // unit)
            fractions.append(place % unit)
            units.append(unit)
        if mode:
            whole = [low + (mode == 2) * (2 * part >= unit) for low, part, unit in zip(lower, fractions, units, strict=True)]
            rows, columns = (np.clip(at, 0, most - 1) for at, most in zip(whole, stored, strict=True))
            self.store(image[rows[:, None], columns] << 16)
            return
        sums = np.zeros(size, np.int64)
        for down, right in product((0, 1), (0, 1)):
            rows, columns = (np.clip(low + more, 0, most - 1) for low, more, most in zip(lower, (down, right), stored, strict=True))
            y, x = (part if more else unit - part for part, unit, more in zip(fractions, units, (down, right), strict=True))
            sums += image[rows[:, None], columns] * (y[:, None] * x)[..., None]
        self.store(sums << 16)


def rounded(x: Array, scale: Array, shift: Array, way: int) -> Array:
    """Returns x * scale / 2 ** shift: halves up (1), away from zero (0, 3), TOSA's double (2), towards zero (4), down (5)."""
    values = np.asarray(x, np.int64) * scale
    half = (np.int64(1) << shift) >> 1
    if way == 2:
        half = half + np.where(shift > 31, np.where(x >= 0, 1 << 30, -(1 << 30)), 0)
    if way in (1, 2, 5):
        return (values + (0 if way == 5 else half)) >> shift
    size = (np.abs(values) + (0 if way == 4 else half)) >> shift
    return np.where(values < 0, -size, size)


def brick(taps: Array, stride: tuple[int, int], multiple: int, more: int, inner: int, core: tuple[int, int]) -> Iterator[Array]:
    """Yields the places of a block [outputs, height, width, inputs] in their order: each `stride`th tap from each first one, to and fro."""
    outputs, height, width, inputs = taps.shape
    number_of, cores = core
    chosen = taps.reshape(outputs // TOGETHER, TOGETHER, height, width, inputs)[number_of::cores]
    left = -(-height * width // multiple) * multiple
    for top, first in product(range(stride[0]), range(stride[1])):
        for index, y in enumerate(range(top, height, stride[0])):
            row = list(range(first, width, stride[1]))
            for x in row[::-1] if index % 2 else row:
                tap = chosen[:, :, y, x].reshape(-1, TOGETHER, inputs // inner, inner)
                yield tap.transpose(2, 0, 1, 3)
                left -= 1
                if more and left % multiple == 0:
                    yield np.full(more * outputs // cores, -1)
    if left:
        yield np.full((left + more) * inputs * outputs // cores, -1)


def fast_weights(coded: Array) -> Array:
    """Returns the weights of a stream of the simple form: a header of 32 bytes, then bytes, or numbers of 4 or 2 bits in a table."""
    bits = np.unpackbits(coded, bitorder="little").astype(np.int64)
    head, body = bits[:256], bits[256:]
    if head[0]:
        offset = int(np.int8(np.uint8(number(head[104:112].reshape(1, 8) << np.arange(8)).sum() & 0xFF)))
        return coded[32:].view(np.int8).astype(np.int64) - offset
    folded = head[112:].reshape(16, 9) @ (1 << np.arange(9))
    table = np.where(folded & 1, -(folded >> 1), folded >> 1)
    many = 2 if head[1] else 4
    return table[body.reshape(-1, many) @ (1 << np.arange(many))]
