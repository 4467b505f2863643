"""What a check of the suite raises."""


class Disagreement(Exception):
    """Something is not as it should be. One line, for people."""
