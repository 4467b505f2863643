"""What a module computes, compared with what later forms of it compute."""
