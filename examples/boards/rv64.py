"""A RISC-V processor of 64 bits."""

from board import riscv

BOARD = riscv("RV64", 64, "-march=rv64imafdc", "-mabi=lp64d")

if __name__ == "__main__":
    from devices import main

    main(["rv64"])
