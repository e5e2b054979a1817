// What a grammar, a text, a file or a call may cost: the limits of both languages, in one table.
//
// A row is here if it bounds work, memory or the size of an input, and a user can meet it: in an error that names it, or in an artifact
// that is not closed. Exceeding a limit never makes a mask wrong, with one exception, `terminals_after_failures`. Constants that only
// choose between two ways to the same result (from which size on a list becomes a table, say) are no limits; each stays beside the code
// that it tunes, named `kMax...`, or `MAX_...` in Python.
//
// C++ reads a row with limit(), when it is compiled: `constexpr std::size_t kMaxLexerStates = limit("lexer_states");`. Python reads the
// rows with `psc.support.limits`. `python docs/limits_table.py` writes the table of docs/limits.md, and a test fails where that is
// stale.
//
// Cost: none when the program runs. This header is included only where a limit is used, so that a new row is compiled into few files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/errors.hpp"

namespace psc {

struct Limit {
    const char* topic;      // what it is a limit of
    const char* name;       // as code has it
    std::int64_t value;     // the largest that is allowed
    const char* of;         // what is counted
    const char* cost = "";  // of each; none where nobody has measured it, or the limit only bounds a number
    const char* past_it = "`ResourceLimitError`";
};

inline constexpr const char* kGrammarError = "`GrammarError`";
inline constexpr const char* kNotClosed = "the artifact is not closed";
inline constexpr const char* kPartlyClosed = "the artifact is partly closed";
inline constexpr const char* kPythonStack = "a few frames of Python's stack";

inline constexpr Limit kLimits[] = {
    {"EBNF", "ebnf_characters", 1'000'000, "characters of a text", "0.4 µs"},
    {"EBNF", "ebnf_groups", 200, "groups inside each other", kPythonStack},
    {"EBNF", "ebnf_repetitions", 8, "repetitions of each other, as in `x*?`"},
    {"EBNF", "ebnf_count", 1'000'000'000, "a bound of a repetition"},
    {"EBNF", "ebnf_tuples", 100, "tuples inside each other in a macro", kPythonStack},
    {"EBNF", "ebnf_free_text_arcs", 1'000'000, "arcs of the automata of all macros with free text"},
    {"EBNF", "ebnf_excluded_tokens", 4'000'000, "tokens in all ranges after `!`"},

    {"Lark", "lark_characters", 250'000, "characters of a text", "1 µs; 10 µs where Lark has to say what is wrong"},
    {"Lark", "lark_groups", 150, "groups inside each other", kPythonStack},
    {"Lark", "lark_count", 1'000'000'000, "a bound of a repetition"},
    {"Lark", "lark_priority", 1'000'000'000, "the priority of a rule or terminal, with or without a minus"},
    {"Lark", "lark_parameters", 64, "parameters of a template"},
    {"Lark", "lark_template_rules", 10'000, "rules made from templates"},
    {"Lark", "lark_template_parts", 500'000, "parts of the rules made from templates, and characters of their names"},
    {"Lark", "lark_pattern_characters", 1'000'000, "characters in the patterns of all terminals"},
    {"Lark", "lark_symbols", 250'000, "symbols in all productions, with every choice written out"},

    {"llguidance", "llguidance_characters", 1'000'000, "characters of a text", "4 µs"},
    {"llguidance", "llguidance_groups", 100, "groups, complements and nested grammars inside each other", kPythonStack},
    {"llguidance", "llguidance_terminals", 100, "terminals and groups inside each other", kPythonStack},
    {"llguidance", "llguidance_grammars", 30, "named grammars that refer to each other", kPythonStack},
    {"llguidance", "llguidance_count", 1'000'000'000, "a count of a repetition", "", kGrammarError},
    {"llguidance", "llguidance_max_chars", 2'147'483'647, "`max_chars` of a rule", "", kGrammarError},
    {"llguidance", "early_lexemes", 20'000, "lexemes where a rule may end early, written out for each use of a rule"},
    {"llguidance", "early_pairs", 4'000'000, "pairs of these lexemes of which one may follow the other"},
    {"llguidance", "early_joint_pairs", 50'000, "pairs of these lexemes that may be read at once"},
    {"llguidance", "early_returns", 1'000, "different sets of these lexemes that may follow a rule"},
    {"llguidance", "early_states", 2'000, "states in which different ones of these lexemes may begin", "a rule and automata"},

    {"regex", "regex_characters", 250'000, "characters of a regex", "3 µs"},
    {"regex", "regex_groups", 250, "groups inside each other", kPythonStack},
    {"regex", "regex_classes", 50, "classes inside each other", kPythonStack},
    {"regex", "regex_count", 1'000'000, "a count of a repetition"},
    {"regex", "lookaround_parts", 200'000,
     "parts of a terminal's regex with lookaround or lazy quantifiers, its counts written out"},
    {"regex", "lookaround_states", 20'000, "states of such a regex"},
    {"regex", "lookaround_steps", 4'000'000, "steps to find these states", "2.5 µs"},

    {"JSON Schema", "json_bytes", std::int64_t{1} << 30, "bytes of a text", "2 to 25 ns"},
    {"JSON Schema", "json_depth", 10'000, "values inside each other"},
    {"JSON Schema", "json_exponent_digits", 9, "digits of a number's exponent"},
    {"JSON Schema", "schema_literal_depth", 200, "values inside each other in `enum` and `const`"},
    {"JSON Schema", "schema_rules", 200'000, "rules that a schema needs", "3 µs"},
    {"JSON Schema", "schema_depth", 1'000, "schemas about one value, inside each other", "a frame of the stack"},
    {"JSON Schema", "schema_references", 200'000, "ways in which schemas about one value refer to each other"},
    {"JSON Schema", "schema_cases", 1'000, "cases that `oneOf`, `anyOf`, `not` and `if` make together"},
    {"JSON Schema", "schema_case_steps", 200'000, "steps to find these cases"},
    {"JSON Schema", "schema_unevaluated_depth", 200, "schemas about one value that `unevaluated...` looks at, inside each other"},
    {"JSON Schema", "schema_unevaluated", 5'000, "the same in all"},
    {"JSON Schema", "schema_unevaluated_conditions", 10, "conditions of what `unevaluated...` looks at", "2 to this power cases"},
    {"JSON Schema", "schema_object_states", 50'000, "states of an object"},
    {"JSON Schema", "schema_name_kinds", 200, "kinds of names that the patterns of an object tell apart"},
    {"JSON Schema", "schema_shared_members", 8, "members that some of several names must have", "2 to this power states"},
    {"JSON Schema", "schema_set_members", 8,
     "members in any order that states tell apart; above, no parameters, and not with `maxProperties` where names decide",
     "2 to this power states"},
    {"JSON Schema", "schema_free_members", 4'000, "members in any order"},
    {"JSON Schema", "schema_free_choices", 256, "choices of members in any order that must be so by their names"},
    {"JSON Schema", "schema_free_names", 50'000, "members in any order, in all these choices"},
    {"JSON Schema", "schema_item_schemas", 100'000, "schemas of an array's items"},
    {"JSON Schema", "schema_array_states", 20'000, "states of an array"},
    {"JSON Schema", "schema_unique_values", 1'000, "values of an array with `uniqueItems`", "", "refused as not enforced"},
    {"JSON Schema", "unique_items", 1'000, "items of an array with `uniqueItems` whose values are not listed", "their text"},
    {"JSON Schema", "text_states", 40'000, "states of a pattern, format or range of numbers"},
    {"JSON Schema", "text_set_states", 4'000'000, "states of a set of strings"},
    {"JSON Schema", "schema_text_words", 20'000'000,
     "states of the sets of strings and numbers that a schema combines, and three words for each arc", "50 ns and 10 bytes"},
    {"JSON Schema", "counted_text_states", 256'000,
     "lexer states that a string with a length beside a pattern or format may need, and all texts of thousands of characters"},
    {"JSON Schema", "counted_lengths", 4'000'000, "lengths of what may follow in all states of a pattern or format with a length",
     "4 bytes"},
    {"JSON Schema", "raw_text_states", 200'000, "states of the texts of a parameter that is not JSON"},

    {"tags and budgets", "tag_formats", 1'000, "formats of a structural tag inside each other", "", "`InvalidStructuralTagError`"},
    {"tags and budgets", "tag_list_values", 500'000, "values in the lists of a structural tag, or of a request's tools, together",
     "2 µs", "`InvalidStructuralTagError`"},
    {"tags and budgets", "free_text_states", 60'000, "states of free text, times the characters that are counted", "2 µs"},
    {"tags and budgets", "free_text_arcs", 2'000'000, "arcs of free text"},
    {"tags and budgets", "substring_positions", 2'000'000, "positions in all states of `Substring`"},
    {"tags and budgets", "limited_rule_states", 100'000, "states of a rule whose texts are limited", "5 µs"},
    {"tags and budgets", "limited_rule_depth", 400, "expressions inside each other in such a rule", kPythonStack},
    {"tags and budgets", "token_budget", 1'000'000, "`max_tokens` of a rule", "", kGrammarError},
    {"tags and budgets", "parts", 4'096, "rules with `max_tokens`, and schemas, in one grammar", "a grammar of its own"},

    {"rules", "rule_nodes", 500'000, "different parts of all rules", "0.2 to 1 µs"},
    {"rules", "expanded_rule_nodes", 2'000'000, "parts of all rules, with rules put in the places that refer to them"},
    {"rules", "counts", 1'000'000'000'000'000'000, "the bound of repetitions of repetitions"},
    {"rules", "automaton_arcs", 300'000, "arcs of an automaton that is one terminal"},
    {"rules", "productions", 200'000, "productions"},

    {"terminals", "terminal_states", 50'000, "states of the automaton of all terminals", "1 kB"},
    {"terminals", "terminal_positions", 1'000'000, "characters and branches of all terminals, with counts written out"},
    {"terminals", "terminal_steps", 1 << 26, "steps to make that automaton deterministic, at once or as texts come to its states",
     "15 ns and 4 bytes"},

    {"LR tables", "lr_items", 4'000'000, "items in the closures of all LR states", "1 µs and 100 bytes"},
    {"LR tables", "lookahead_words", 1 << 25, "words of the sets that lookaheads are made of", "8 bytes"},
    {"LR tables", "lr_actions", 16'000'000, "actions in all cells", "4 bytes"},
    {"LR tables", "stored_cells", 1 << 25, "cells of the tables of an artifact; a machine that is built just in time has no limit",
     "4 bytes"},
    {"LR tables", "free_order_states", 1 << 26, "sets of members in any order that texts visit"},
    {"LR tables", "free_order_steps", 10'000, "steps to find whether members in any order can be completed",
     "a look at all of them"},

    {"lexer", "context_states", 1 << 20, "lexer states of all contexts"},
    {"lexer", "context_arcs", 1 << 24, "lexer arcs of all contexts"},
    {"lexer", "lexer_states", 1 << 18, "lexer states"},
    {"lexer", "open_lexemes", 400, "lexemes open within each other that may all fail"},
    {"lexer", "byte_ways", 4'096, "ways to lex one byte"},
    {"lexer", "relexed_terminals", 1 << 24, "terminals in all sequences that text is lexed into again", "4 bytes"},
    {"lexer", "terminals_after_failures", 64, "terminals that must follow a lexeme which fails into itself again and again", "",
     "a text that needs more of them is refused"},
    {"lexer", "failure_sets", 1 << 21, "sets of ways in which open lexemes can fail"},
    {"lexer", "failure_steps", 1 << 26, "steps to unite these sets"},
    {"lexer", "steps_to_close_lexer", 8'000'000, "steps to close the lexer ahead of time", "0.25 µs", kNotClosed},

    {"tokens", "token_bytes", 65'535, "bytes of a token"},
    {"tokens", "vocabulary_bytes", 2'147'483'647, "bytes of all tokens"},
    {"tokens", "token_ways", 1 << 14, "ways to lex one token", "8 bytes"},
    {"tokens", "vocabulary_ways", 1 << 23, "ways to lex all tokens", "8 bytes"},
    {"tokens", "terminal_sequences", 1 << 22, "terminal sequences", "32 bytes"},
    {"tokens", "token_terminals", 4'000, "terminals in one token where reductions of nothing may go round", "a frame of the stack"},
    {"tokens", "token_shifts", 4'000, "reductions and shifts for one token"},

    {"classifier", "steps_ahead_of_time", 300'000'000, "steps for classes of tokens and terminal sequences ahead of time", "30 ns",
     kNotClosed},
    {"classifier", "more_steps_to_close", 100'000'000, "more steps to close the classifier", "30 ns", kPartlyClosed},
    {"classifier", "bytes_to_close", 512'000'000, "bytes of the classifier while it is closed", "", kPartlyClosed},
    {"classifier", "bytes_to_close_whole", 340'000'000, "bytes of the classifier while it is closed over whole sequences", "",
     "they are cut behind their first terminals"},
    {"classifier", "emitted_sequences", 1'000'000'000, "sequences in all emissions", "4 bytes", kPartlyClosed},
    {"classifier", "steps_to_merge", 50'000'000, "steps to merge the classifiers of a job in pieces", "0.2 µs", kPartlyClosed},

    {"masks", "mask_steps", 40'000'000, "steps for one token or mask; `max_steps` of a matcher, and a serving engine, allow fewer",
     "10 to 100 ns"},
    {"masks", "steps_for_byte", 100'000, "steps more for each byte of a text that is accepted at once", "10 to 100 ns"},
    {"masks", "steps_to_classify", 8'000'000, "steps to classify stacks just in time", "10 to 100 ns",
     "the tokens are read on the stacks of this text, with all the steps for a mask"},
    {"masks", "stack_edges", 1 << 20, "stacks under one terminal"},
    {"masks", "forced_bytes", 1 << 16, "bytes of text that a grammar forces, looked at in one call", "", "the next call goes on"},
    {"masks", "linked_positions", 256, "positions of a text in linked grammars", "a matcher"},
    {"masks", "boundary_bytes", 4'000'000, "bytes read behind boundaries of linked grammars for one mask"},
    {"masks", "record_positions", 1'000'000, "positions in the rules of a text whose captures are read", "a few µs"},

    {"verification", "verified_lr_states", 200, "LR states", "square, for each terminal", kGrammarError},
    {"verification", "verified_sequences", 5'000, "terminal sequences", "", kGrammarError},
    {"verification", "verified_steps", 20'000'000, "steps to find these sequences", "", kGrammarError},
    {"verification", "verified_ways", 4'096, "ways to lex one token", "", kGrammarError},

    {"files", "vocabulary_size", 1 << 24, "tokens of a vocabulary, and columns of logits", "", "`TokenizerError`, `BitmaskError`"},
    {"files", "tokenizer_bytes", std::int64_t{1} << 30, "bytes of a tokenizer's file, unpacked", "", "`TokenizerError`"},
    {"files", "artifact_header_bytes", 64 << 20, "bytes of an artifact's header", "", "`ArtifactError`"},
    {"files", "artifact_payload_bytes", 256 << 20, "bytes of an artifact's tables, and half of what they take in memory", "",
     "`ArtifactError`"},
    {"files", "json_values", 4'000'000, "values in the JSON of an artifact or a registry", "60 bytes",
     "`ArtifactError`, `RegistryError`"},
    {"files", "artifact_token_bytes", 1 << 28, "bytes of all classes of tokens of an artifact that is not closed", "",
     "`ArtifactError`"},
    {"files", "warm_rows", 1 << 13, "masks of each kind that an artifact names in advance", "",
     "`ArtifactError`; no more are written"},
    {"files", "registry_payload_bytes", 256 << 20, "bytes of the tables of an artifact in a store or registry", "",
     "`ArtifactError`"},
    {"files", "registry_blob_bytes", 1 << 30, "bytes of a file in a store or registry", "", "`RegistryError`"},
    {"files", "registry_index_bytes", 64 << 20, "bytes of a registry's index", "", "`RegistryError`"},
    {"files", "registry_reference_bytes", 64 << 10, "bytes of a reference", "", "`RegistryError`"},
    {"files", "jobs_file_bytes", 16 << 20, "bytes of a jobs file", "", "`JobsFileError`"},
    {"files", "simulated_cpus", 100'000, "CPUs of a simulated cluster", "", "`SimulationError`"},
    {"files", "playground_characters", 1'000'000, "characters of a grammar in the playground", "", "an error message"},
    {"files", "playground_text_bytes", 16'384, "bytes of a text in the playground", "", "an error message"},
};

consteval std::int64_t limit(std::string_view name) {
    for (const Limit& row : kLimits)
        if (row.name == name) return row.value;
    throw "no limit has this name";
}

// As messages have it: 250,000.
inline std::string readable(std::int64_t limit) {
    std::string digits = std::to_string(limit);
    for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');  // a text here: GCC 12 warns of an overlap
    return digits;
}

}  // namespace psc
