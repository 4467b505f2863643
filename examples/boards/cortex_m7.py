"""A Cortex-M7."""

from board import cortex_m

BOARD = cortex_m("Cortex-M7", "mps2-an500", "-mcpu=cortex-m7", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16")

if __name__ == "__main__":
    from devices import main

    main(["cortex_m7"])
