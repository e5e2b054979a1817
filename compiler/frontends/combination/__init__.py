"""Unions and concatenations in which some grammars have lexers of their own."""
