"""Writes planned programs as folders of C: the program, its weights, and the kernels that it calls."""

from flambeau.runtime.emit.c_program.folder import MARK, WEIGHTS, c_files
from flambeau.runtime.emit.c_program.header import c_interface
from flambeau.runtime.emit.c_program.printer import print_c

__all__ = ["MARK", "WEIGHTS", "c_files", "c_interface", "print_c"]
