"""Services of every layer that know nothing of compilers: files, terminals, tracebacks, tables of names, numpy on first use."""
