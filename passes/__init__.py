"""See README.md in this folder."""

from importlib import import_module


def __getattr__(name: str) -> object:
    raise import_module("flambeau.support.executorch_names").missing_name(__name__, name)
