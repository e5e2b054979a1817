"""From a parsed grammar and a vocabulary to an artifact's arrays, or to a machine that is built just in time.

Lives here: the stages (`build.py`), the same over several processes (`pieces.py`), just in time (`just_in_time.py`), and grammars
of linked parts (`linking.py`). It may import everything else of the compiler but `paper/`. Begin with `build.py`.
"""
