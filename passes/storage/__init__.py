"""What the passes over storage share: which slots share memory, when it is used, and which operators only reinterpret bytes."""
