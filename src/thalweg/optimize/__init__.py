"""Logical plans → better logical plans."""
