"""Parts of linked machines: which may wait for a text to come to them, and that these do."""

from __future__ import annotations

import pytest
from token_grammars import NAMES, TOKENIZER, spellings

from psc import GrammarMatcher
from psc._core import LinkedPart, PartVocabularies
from psc.compiler.cfg.lowering import DEFAULT_LIMITS
from psc.compiler.cfg.terminals import MAX_POSITIONS
from psc.compiler.expressions.expression import Chars, Choice, Expression, Literal, Reference, Repeat, RuleSet, Sequence
from psc.compiler.expressions.joined_rules import JoinedRules
from psc.compiler.expressions.tokens import token_set
from psc.compiler.expressions.words import native_rules
from psc.compiler.pipeline.linking import link, plan_links
from psc.compiler.pipeline.part_cache import PartCache
from psc.grammars.build_grammar import shared_vocabulary
from psc.grammars.compiled_grammar import CompiledGrammar

A = Literal("a")
DEAD: Expression = Choice(())
REPEATED = Repeat(A, 0, 1000)


def may_wait(rules: dict[str, Expression]) -> bool:
    vocabularies = PartVocabularies(shared_vocabulary(TOKENIZER))
    programs = native_rules(rules, "root")
    return LinkedPart.of_rules(programs, vocabularies, **vars(DEFAULT_LIMITS), max_positions=MAX_POSITIONS) is not None


@pytest.mark.parametrize(
    "rules",
    [
        {"root": A},
        {"root": Literal("")},
        {"root": Choice((DEAD, A))},
        {"root": Repeat(DEAD, 0, None)},
        {"root": Sequence((Reference("value"), A)), "value": Choice((A, Sequence((A, Reference("value")))))},
        {"root": Reference("list"), "list": Choice((Sequence((A, Reference("tail"))), A)), "tail": Reference("list")},
        {"root": A, "unused": Reference("nowhere")},
        {"root": REPEATED},
        {"root": Repeat(REPEATED, 0, 1000)},
        {"root": Repeat(A, 2, 10**9)},
        {"root": Sequence((Reference("many"),) * 30), "many": REPEATED},
    ],
    ids=lambda rules: " ".join(rules),
)
def test_rules_wait_with_which_nothing_can_be_wrong(rules: dict[str, Expression]) -> None:
    assert may_wait(rules)


@pytest.mark.parametrize(
    "rules",
    [
        {"root": DEAD},
        {"root": Sequence((A, Chars(())))},
        {"root": Repeat(DEAD, 1, None)},
        {"root": Sequence((A, Reference("root")))},
        {"root": Reference("one"), "one": Sequence((A, Reference("two"))), "two": Reference("one")},
        {"root": Reference("nowhere")},
        {"root": Repeat(A, 0, 10**9 + 1)},
        {"root": Repeat(Sequence((A, Repeat(REPEATED, 0, 1000))), 0, 1001)},
        {"root": Repeat(Reference("many"), 0, 10**6 + 1), "many": REPEATED},
        {"root": Sequence((Reference("many"),) * 100), "many": REPEATED},
        {"root": Literal("a" * 20_001)},
        {"root": token_set([1])},
        {"root": Choice((A, Reference("marker"))), "marker": spellings(NAMES, "<|c|>")},
    ],
    ids=lambda rules: " ".join(rules),
)
def test_other_rules_are_made_at_once(rules: dict[str, Expression]) -> None:
    assert not may_wait(rules)


def test_a_part_is_made_when_a_text_comes_to_it() -> None:
    rule_sets = {name: RuleSet({"root": Literal(name)}, "root", name, "<part>", {}) for name in ("p", "q")}
    frame = Sequence((Literal("a"), Choice((Sequence((Literal("b"), Reference("p"))), Sequence((Literal("c"), Reference("q")))))))
    known = PartCache(shared_vocabulary(TOKENIZER), TOKENIZER.vocab_size, 1 << 30)
    whole = RuleSet(JoinedRules({"root": frame}, rule_sets, "root"), "root", "", "<test>", {})
    plan = plan_links(whole, worth=lambda part: True)
    assert plan is not None
    made = link(plan, known, 0)
    compiled = CompiledGrammar(made.machine, dict, tokenizer_info=TOKENIZER)
    matcher = GrammarMatcher(compiled, terminate_without_stop_token=True)
    seen = []
    for text in ("", "a", "b", "p"):
        assert matcher.accept_string(text) or not text
        matcher.allowed_tokens()
        seen.append([part.native.is_made for part in made.parts])
    assert seen[0] == [False, False]
    assert seen[2:] == [[True, False], [True, False]]
    assert matcher.is_terminated()
