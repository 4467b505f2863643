"""Reads and writes `.ptd` files, which hold weights outside of a program, and puts the weights into the program that names them."""

from flambeau.runtime.flat_tensor.external_data import DataPath, external_info, external_names, link, link_files, read_data_files
from flambeau.runtime.flat_tensor.flat_tensor_file import (
    FlatTensorError,
    NamedTensor,
    TensorLayout,
    read_flat_tensor,
    write_flat_tensor,
)

__all__ = [
    "DataPath",
    "FlatTensorError",
    "NamedTensor",
    "TensorLayout",
    "external_info",
    "external_names",
    "link",
    "link_files",
    "read_data_files",
    "read_flat_tensor",
    "write_flat_tensor",
]
