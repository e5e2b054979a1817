"""Which rules of a grammar are open where a text is, and which were over: temperatures and captures of rules.

Masks need none of it. So only grammars with such options have their texts read again, in Python, when somebody asks.
"""
