"""What each command of `flambeau` does."""
