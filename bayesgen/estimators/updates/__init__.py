"""Updates of fitted classifiers: rows added, merged in from another fit, or removed."""
