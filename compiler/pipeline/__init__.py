"""From a parsed grammar and a vocabulary to an artifact's arrays, or to a machine that is built just in time.

Lives here: the stages (`build.py`), the same over several processes (`pieces.py`), a grammar's tables in a file
(`stored_tables.py`), and grammars of linked parts (`linking.py`). It may import everything else of the compiler but `paper/`.
Begin with `build.py`.
"""
