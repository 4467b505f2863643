"""Complex numbers, and operators on their parts."""
