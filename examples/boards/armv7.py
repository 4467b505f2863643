"""A 32-bit Arm processor under Linux, with NEON."""

from board import linux

BOARD = linux(
    "ARMv7", "arm", "arm-linux-gnueabihf", "-march=armv7-a", "-mfpu=neon-vfpv4", packages="gcc-arm-linux-gnueabihf libc6-dev-armhf-cross"
)

if __name__ == "__main__":
    from devices import main

    main(["armv7"])
