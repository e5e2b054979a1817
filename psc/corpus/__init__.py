"""Bundled grammars beside the languages' own parsers: real files, and mutants of them, judged by both.

A grammar is wrong in two ways: it refuses a text of the language, or takes one that is not. Real files show the first, mutants
(one token changed) both. Differences are grouped by construct, so that the report shows what to mend.
"""
