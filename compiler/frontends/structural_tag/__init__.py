"""Structural tags: JSON documents that say what a model's output looks like, with XGrammar's formats; docs/structural-tags.md."""
