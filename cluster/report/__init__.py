"""Reports of a run: on the terminal (`table.py`), and as one web page (`page.py`).

It reads the outcomes that `psc.cluster.run` has written, and changes nothing.
"""
