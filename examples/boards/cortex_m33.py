"""A Cortex-M33, in its secure state."""

from board import cortex_m

BOARD = cortex_m(
    "Cortex-M33",
    "mps2-an505",
    "-mcpu=cortex-m33",
    "-mfloat-abi=hard",
    "-mfpu=fpv5-sp-d16",
    CODE=(0x10000000, 4 << 20),
    RAM=(0x38000000, 4 << 20),
)

if __name__ == "__main__":
    from devices import main

    main(["cortex_m33"])
