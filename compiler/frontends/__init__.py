"""Front ends, a folder each: text in a grammar language becomes the rules, or terminals and productions, that later stages read.

Lives here: what a front end is (`front_end.py`), the list of them (`registry.py`), and the request that goes from the API to the
key and the parser (`request.py`). A front end may import the rooms below and other front ends; nothing outside asks for one by
name, but through the registry. Begin with `front_end.py`, then `registry.py`, which calls the functions of each folder.
"""
