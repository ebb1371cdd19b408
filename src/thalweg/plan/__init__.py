"""From syntax tree to logical plan."""
