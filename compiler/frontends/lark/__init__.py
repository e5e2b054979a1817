"""Lark grammar files: which files they import, loading them with Lark, and where Lark's own lexing differs from psc's."""
