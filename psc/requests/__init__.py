"""What callers write becomes a `GrammarRequest`: JSON schemas, Lark texts, structural tags.

It may import the compiler's front ends. Begin with `json_schemas.py`.
"""
