"""Delegation: the interface of backends, the groups of operators that they take, and the passes that hand them over."""
