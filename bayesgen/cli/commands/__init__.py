"""The commands, one a file: their arguments, what they do, and what they print."""
