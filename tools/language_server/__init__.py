"""`flambeau lsp`: a language server for modules, on the registry and the plug-ins of the other tools."""
