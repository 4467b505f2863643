"""`flambeau report`: everything about the compilation and the runs of a model, in one page."""
