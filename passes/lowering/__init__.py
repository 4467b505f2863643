"""What the passes between levels share."""
