"""A library for passes that make C of programs: the C variables of slots."""
