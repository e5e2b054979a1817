"""Artifacts: the file format, and the vocabulary that an artifact is made for."""
