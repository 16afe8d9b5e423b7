"""Fitted classifiers that change: rows added, merged in from another fit, or taken out."""
