"""A library for passes over storage: slots that share memory, their lifetimes, and operators that only reinterpret bytes."""
