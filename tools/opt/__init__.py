"""`flambeau-opt`: parse modules, run pipelines, verify, print."""

from flambeau.tools.opt.driver import main

__all__ = ["main"]
