"""What came of a batch: the next control entry, and the answers."""
