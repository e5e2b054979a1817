"""Parsers that say what a language is: its own compiler's where there is one, each behind the same three names."""
