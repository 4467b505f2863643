"""The dialects: what programs are made of. A folder is a dialect; a file in it is a family of operators."""

if __name__ != "flambeau.dialects":
    raise ImportError("import flambeau.dialects, not dialects: a second copy of a class is another class")
