"""XGrammar's module of what looks at grammars and bitmasks, for programs that import it by that name."""

from psc.grammars.testing import (
    _ebnf_to_grammar_no_normalization,
    _get_masked_tokens_from_bitmask,
    _get_matcher_from_grammar,
    _get_matcher_from_grammar_and_tokenizer_info,
    _is_grammar_accept_string,
    _is_single_token_bitmask,
    _json_schema_to_ebnf,
    _regex_to_ebnf,
    _traverse_draft_tree,
    bitmask_to_bool_mask,
    bool_mask_to_bitmask,
)

__all__ = [
    "_ebnf_to_grammar_no_normalization",
    "_get_masked_tokens_from_bitmask",
    "_get_matcher_from_grammar",
    "_get_matcher_from_grammar_and_tokenizer_info",
    "_is_grammar_accept_string",
    "_is_single_token_bitmask",
    "_json_schema_to_ebnf",
    "_regex_to_ebnf",
    "_traverse_draft_tree",
    "bitmask_to_bool_mask",
    "bool_mask_to_bitmask",
]
