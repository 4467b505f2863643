"""Higher-order operators of torch.export: branches and loops, what their bodies write, and calls of operators that write to arguments."""
