"""`flambeau tune`: chooses by measurement how operators are computed."""
