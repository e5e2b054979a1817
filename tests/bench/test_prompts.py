"""Prompts for models: many, none twice, and the same ones each time."""

import re

import pytest

from psc.bench.prompts import LANGUAGES, PERSON, prompts_of


@pytest.mark.parametrize("language", LANGUAGES)
def test_two_hundred_prompts(language: str) -> None:
    prompts = prompts_of(language, 200)
    texts = [prompt.text for prompt in prompts]
    assert len(set(texts)) == 200 and prompts_of(language, 20) == prompts[:20]
    assert all(text.endswith(".") and not re.search(r"[{}]| {2}|\.\.", text) for text in texts)
    for place, words in enumerate(LANGUAGES[language][0]):
        met = sum(any(str(word) in text for text in texts) for word in words if isinstance(word, str) and word)
        assert met * 2 >= sum(isinstance(word, str) and "{" not in word for word in words), place


def test_facts_are_in_the_sentence() -> None:
    for prompt in prompts_of("json", 200):
        assert set(prompt.facts) <= set(PERSON["properties"])
        assert all(re.search(rf"\b{fact}\b", prompt.text) for fact in prompt.facts.values())


def test_no_such_language_and_too_many() -> None:
    with pytest.raises(KeyError):
        prompts_of("cobol", 1)
    with pytest.raises(ValueError, match="sql has 200 prompts, not 201"):
        prompts_of("sql", 201)
