"""The compiler as a library: the stages from a program to a .pte, and the public API."""
