"""Expressions over characters, and sets of named rules made of them: what every front end but Lark's ends in.

Lives here: the nodes (`expression.py`), their words for the native core (`words.py`), and what is built of them: unions and
substitutions (`rule_sets.py`, `joined_rules.py`), free text, limits on texts, markers, tokens. It may import the vocabulary and
errors, and nothing of the rest of the compiler. Begin with `expression.py`.
"""
