"""Mutated files for every reader: `make fuzz`."""
