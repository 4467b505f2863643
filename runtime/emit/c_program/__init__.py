"""Writes planned programs as folders of C: the program, its weights, and the kernels that it calls."""

from flambeau.runtime.emit.c_program.c_text import print_c
from flambeau.runtime.emit.c_program.folder import MARK, WEIGHTS, header_files, program_files, runtime_files, weights_blob
from flambeau.runtime.emit.c_program.header import c_interface

__all__ = ["MARK", "WEIGHTS", "c_interface", "print_c", "header_files", "program_files", "runtime_files", "weights_blob"]
