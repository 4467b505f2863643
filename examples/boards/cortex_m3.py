"""A Cortex-M3, which has no floating-point unit."""

from board import cortex_m

BOARD = cortex_m("Cortex-M3", "mps2-an385", "-mcpu=cortex-m3")

if __name__ == "__main__":
    from devices import main

    main(["cortex_m3"])
