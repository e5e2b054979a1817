"""Texts of the small languages that psc has grammars of: one file for each, see `rows`."""
