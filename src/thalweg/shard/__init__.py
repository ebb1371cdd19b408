"""One batch of one shard."""
