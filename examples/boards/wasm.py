"""WebAssembly with vectors of 128 bits, in node.

Clang puts local variables whose address is taken on a stack in memory; the stack that the table shows is this one.
"""

from board import HARNESS, Board

BOARD = Board(
    "wasm",
    ("clang",),
    ("--target=wasm32-wasi", "--sysroot=/usr", "-msimd128"),
    ("hosted",),
    ("node", "--no-warnings", str(HARNESS / "wasi.mjs")),
    "clang lld wasi-libc libclang-rt-14-dev-wasm32 nodejs",
    libraries=("-Wl,-z,stack-size=262144", "-lm"),
    is_counted=False,
)

if __name__ == "__main__":
    from devices import main

    main(["wasm"])
