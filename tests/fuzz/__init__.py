"""Damaged files for what labelwise reads by itself: `make fuzz`."""
