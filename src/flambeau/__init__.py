"""Flambeau: PyTorch programs to devices, through compiler IR that can be read, run and changed."""
