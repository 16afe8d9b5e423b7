"""Parts of a stack: its members, rows, left-out predictions, posterior and fit to a source."""
