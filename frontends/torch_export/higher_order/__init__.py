"""Higher-order operators of torch.export: branches and loops, writes within their bodies, calls of operators that write to arguments."""
