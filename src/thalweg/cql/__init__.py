"""From query text to syntax tree."""
