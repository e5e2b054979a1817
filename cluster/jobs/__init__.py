"""From a jobs file to jobs: each one grammar for one tokenizer.

Begin with `jobs_file.py`, which reads and checks the file; `expansion.py` makes the jobs. It may import the compiler's front ends
and the vocabulary.
"""
