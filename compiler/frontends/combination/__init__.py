"""Unions and concatenations of grammars of which some have a lexer of their own: each is a part, and the parts are linked.

See `front_end.py`.
"""
