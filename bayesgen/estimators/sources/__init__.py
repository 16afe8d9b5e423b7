"""Fits to sources, read part by part on one machine or a cluster, and their predictions."""
