"""A Cortex-M4 with a floating-point unit."""

from board import cortex_m

BOARD = cortex_m("Cortex-M4F", "mps2-an386", "-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")

if __name__ == "__main__":
    from devices import main

    main(["cortex_m4f"])
