// Free text until one of many triggers, as one automaton that says which of them it was.
//
// Free text is a text of which none of some texts is a substring: the triggers, with which something else begins, and what is
// excluded. It goes on until the first occurrence of a trigger, by where that ends. Several triggers may end there; if an excluded
// text ends there too, the text is none. The automaton is that of Aho and Corasick over all these texts. A terminal for each
// trigger would be as many copies of it, the square of the triggers; here the terminals are its labels.
//
//   <a, <b    free text    every state but the start and those behind a trigger
//             until <a     the state behind <a
//
// A trigger may be spelled by special tokens where their names are in it. Free text has no tokens, so what is behind one is forced:
// the triggers that go on so, without falling back.
//
// Cost: linear in the texts, times the different characters that they begin with. Threads: immutable once made.
// Source: A. Aho, M. Corasick, "Efficient string matching: an aid to bibliographic search" (1975).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rules/rule_programs.hpp"

namespace psc {

class TextSearch {
public:
    struct Token {
        Word text;           // the trigger
        Word before, after;  // the token's name is between these positions of it
        Word symbol;
    };
    struct Limits {
        std::size_t states, arcs;
    };

    // `triggers` and `excluded` are not empty each. Throws LimitExceeded, which names the limit.
    TextSearch(const std::vector<std::u32string>& triggers, const std::vector<std::u32string>& excluded,
               const std::vector<Token>& tokens, Limits limits);

    std::size_t n_triggers() const { return n_triggers_; }
    // The triggers, by number and ascending, that a text can go on to.
    const std::vector<Word>& reached() const { return reached_; }

    // Whether the first occurrence of a trigger can be read as free text that ends with the trigger's first character, and then the
    // rest of any trigger that begins so: no trigger or excluded text overlaps the beginning of a trigger, or is in one.
    bool separable() const { return separable_; }
    // The first characters of triggers, ascending.
    const std::u32string& firsts() const { return firsts_; }

    // The rules that are labels, -1 for none.
    struct Rules {
        std::vector<Word> triggers;  // free text until each
        std::vector<Word> firsts;    // free text that ends with each of these characters
        Word text;                   // free text that is not empty
    };
    LabelledAutomaton labelled(const Rules& rules) const;

private:
    using Labels = std::vector<Word>;  // numbers of triggers, ascending
    struct Node {
        Word fallback = 0;
        char32_t last = 0;                                // character that was read
        std::vector<std::pair<char32_t, Word>> children;  // ascending
        std::vector<std::pair<Word, Word>> tokens;        // (symbol, node), of triggers that go on with a token
        Labels ends;                                      // triggers that are this text
        bool excluded = false;
        bool leads = false;  // to the end of a trigger
        bool found = false;  // a trigger or an excluded text ends here
    };
    // What a state of the automaton has read: free text up to a node; behind a token, beginnings of triggers; or, where there are
    // none, a whole trigger.
    struct Kind {
        Word node;  // or -1
        std::set<Word> forced;
    };

    void fall_back();
    bool overlaps(Word node) const;
    void explore();
    Word after(Word node);
    Word text_state(Word node);
    Word forced_state(std::set<Word> nodes);
    void add_text_arcs(Word state, Word node);
    void add_forced_arcs(Word state, const std::set<Word>& nodes);
    Word add_state(Labels labels, bool is_text);

    Limits limits_;
    std::size_t n_triggers_;
    std::vector<Node> nodes_;
    std::vector<std::vector<std::pair<char32_t, Word>>> next_;  // per node, the arcs that do not lead to node 0
    std::size_t n_arcs_ = 0;
    // States of the automaton.
    std::vector<Labels> labels_;
    std::vector<char> is_text_;
    std::vector<LabelledAutomaton::Arc> arcs_;
    std::vector<Kind> kinds_;
    std::vector<Word> state_of_node_;  // or -1
    std::map<Labels, Word> state_of_end_;
    std::map<std::set<Word>, Word> state_of_forced_;
    std::vector<char32_t> last_;  // per state of free text, the character that was read; 0 where it begins no trigger
    std::vector<Word> reached_;
    std::u32string firsts_;
    bool separable_ = true;
};

}  // namespace psc
