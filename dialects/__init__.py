"""The dialects: the operations, types and attributes of programs. Each folder is a dialect; each file in it is a family of operators."""

if __name__ != "flambeau.dialects":
    raise ImportError("import flambeau.dialects, not dialects: a second copy of a class is another class")
