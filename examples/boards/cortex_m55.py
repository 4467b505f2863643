"""A Cortex-M55, whose vectors (Helium) the compiler uses where it vectorises loops by itself.

Code lies in the 512 kB of tightly coupled memory, and constants in the memory of the board. Without the two `-fno-if-conversion`,
the assembler of binutils before 2.41 takes `vcvtne` for an instruction of Helium.
"""

from board import cortex_m

BOARD = cortex_m(
    "Cortex-M55",
    "mps3-an547",
    "-mcpu=cortex-m55",
    "-mfloat-abi=hard",
    "-O3",
    "-fno-if-conversion",
    "-fno-if-conversion2",
    CODE=(0, 512 << 10),
    CONSTANTS=(0x38000000, 8 << 20),
    RAM=(0x31000000, 4 << 20),
)

if __name__ == "__main__":
    from devices import main

    main(["cortex_m55"])
