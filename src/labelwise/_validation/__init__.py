"""Validation of what users pass, once, at the door: arguments, arrays, probabilities and labels.

Inner functions trust it. Every refusal of a value is an `InputError`.
"""
