"""Which rules of a grammar are open after a text, and which were complete: temperatures and captures of rules.

Masks need none of it. So only grammars with such options have their texts read again, in Python, on request.
"""
