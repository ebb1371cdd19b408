"""Expressions as machine code: their text, the loops around it, and where the code is kept."""
