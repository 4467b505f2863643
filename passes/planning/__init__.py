"""Memory planning without IR: buffers with lifetimes and sizes in, offsets out. Every plan can be checked by `check_plan`."""
