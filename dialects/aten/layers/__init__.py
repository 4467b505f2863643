"""Layers of neural networks, and their gradients."""
