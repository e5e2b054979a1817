"""llguidance's dialect of Lark, which XGrammar, vLLM and guidance's clients send: rules and terminals with JSON schemas, special
tokens, other grammars and sets of texts in them. docs/llguidance.md says what is read and what it means.
"""
