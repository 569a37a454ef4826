"""Speed and strength, each a command that prints a table and the ratio to a peer."""
