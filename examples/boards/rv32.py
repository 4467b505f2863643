"""A RISC-V processor of 32 bits, with single and double precision."""

from board import riscv

BOARD = riscv("RV32", 32, "-march=rv32imafdc", "-mabi=ilp32d")

if __name__ == "__main__":
    from devices import main

    main(["rv32"])
