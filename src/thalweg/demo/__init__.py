"""A first look: a few queries over made-up streams, and their answers as they change."""
