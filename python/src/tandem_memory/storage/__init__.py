"""Stores: where conversations outlive the process; the same files in both languages."""
