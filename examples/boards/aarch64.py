"""A 64-bit Arm processor under Linux, with products of bytes (dotprod, i8mm)."""

from board import linux

BOARD = linux(
    "AArch64", "aarch64", "aarch64-linux-gnu", "-march=armv8.6-a+dotprod+i8mm", packages="gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
)

if __name__ == "__main__":
    from devices import main

    main(["aarch64"])
