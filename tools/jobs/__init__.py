"""Many pieces of work at the same time: in processes of this machine, or on a cluster."""
