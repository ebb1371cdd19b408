"""What a shard runs: each operator turns changes of its inputs into changes of its output."""
