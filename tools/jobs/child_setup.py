"""What a new process takes over from the one that starts it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flambeau.runtime.binding.libraries import add_backend, add_kernels, added_libraries


@dataclass(frozen=True)
class ChildSetup:
    """The first message to a process."""

    folder: str
    path: Sequence[str]
    backends: Mapping[str, Path]
    kernels: Mapping[str, Path]
    plugins: Sequence[str] = ()
    """The plug-ins to load."""
    memory: int | None = None
    """The bytes of addresses that the process may have; None for no limit."""

    @classmethod
    def like_here(cls, *, with_plugins: bool = False, memory: int | None = None) -> ChildSetup:
        """Returns the setup of this process. Without `with_plugins`, it has only the C libraries of plug-ins."""
        from flambeau.plugins.loader import loaded_plugins

        plugins = [str(plugin.path) for plugin in loaded_plugins() if plugin.path is not None] if with_plugins else []
        return cls(os.getcwd(), tuple(sys.path), *added_libraries(), plugins, memory)

    def apply(self) -> None:
        """Prepares this process. Raises PluginError."""
        if os.path.isdir(self.folder):  # another machine may not have it
            os.chdir(self.folder)
        sys.path[:] = dict.fromkeys([*self.path, *sys.path])
        if self.memory is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))
        for name, library in self.backends.items():
            add_backend(name, library)
        for name, library in self.kernels.items():
            add_kernels(name, library)
        if self.plugins:
            from flambeau.plugins.loader import load_plugin

            for plugin in self.plugins:
                load_plugin(plugin)
