"""A HiFi processor of Xtensa without floats, for which Debian's GCC makes code of the instructions that all Xtensas have."""

from board import Board

_START = 0xD0001000

BOARD = Board(
    "Xtensa",
    ("xtensa-lx106-elf-gcc",),
    ("--specs=/usr/lib/xtensa-lx106-elf/picolibc.specs", "-mtext-section-literals", "-mlongcalls"),
    ("bare", "xtensa"),
    (
        *("qemu-system-xtensa", "-M", "sim", "-cpu", "test_mmuhifi_c3", "-nographic", "-monitor", "none", "-serial", "none"),
        *("-semihosting", "-device", f"loader,addr={_START:#x},cpu-num=0", "-kernel"),
    ),
    "gcc-xtensa-lx106 picolibc-xtensa-lx106-elf qemu-system-misc",
    {"CODE": (_START, 16 << 20), "RAM": (0xD1001000, 16 << 20)},
    "board_reset",
    arithmetic=("xtensa_numbers",),
)

if __name__ == "__main__":
    from devices import main

    main(["xtensa"])
