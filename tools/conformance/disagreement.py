"""The error that a check of the suite raises."""


class Disagreement(Exception):
    """A deviation from the expected result. The message is one line for the user."""
