"""Bundled grammars by their names in structural tags: prose in which each block of code is of its language."""

import hashlib
import json
from functools import cache

import pytest
from masks_along_texts import check_masks_along
from vocabularies import byte_tokenizer

import psc
from psc.artifacts.input_key import input_key_of
from psc.compiler.frontends.structural_tag.front_end import find_imports
from psc.compiler.grammars import bundled_text
from psc.errors import GrammarError


def fenced(*languages: str) -> dict[str, object]:
    """Prose with blocks of these languages."""
    end = {"type": "const_string", "value": "\n```"}
    rules = [[f"```{name}\n", {"type": "sequence", "elements": [{"type": "grammar", "grammar": name}, end]}] for name in languages]
    return {"type": "structural_tag", "format": {"type": "dispatch", "rules": rules}}


@cache
def compiled(*languages: str) -> psc.CompiledGrammar:
    return psc.GrammarCompiler(byte_tokenizer(), store=False).compile_structural_tag(fenced(*languages))


def accepts(grammar: psc.CompiledGrammar, text: str) -> bool:
    matcher, data = psc.GrammarMatcher(grammar), text.encode()
    return matcher.accept_prefix(data) == len(data) and matcher.is_completed()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no block", True),
        ("```js\n{{{\n```", True),
        ('a\n```json\n{"b": "```"}\n``` c', True),
        ("```json\n{b}\n```", False),
        ("```json\n[]```", False),
        ("```json\n[]\n", False),
        ("```go\npackage p\n\nfunc f() {}\n```\n```json\n[]\n```\n", True),
        ("```go\npackage p\n\nfunc f() {\n```", False),
        ("```go\npackage p // ```\n\n```", True),
        ("```toml\na = 1\nb = '''\n```\n'''\n```", True),
        ("```toml\na = 1 2\n```", False),
    ],
)
def test_blocks_are_of_their_language(text: str, expected: bool) -> None:
    assert accepts(compiled("json", "go", "toml"), text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n```jsx\nexport default () => <a>it's {b}</a>\n```\n", True),
        ("```jsx\nx = <a>\n```", False),
        ("```jsx\nx = <a>\n```\n</a>\n```", True),
        ("```tsx\nconst a = <T,>(b: T) => <c<T> d={b!}/>;\n```\n```jsx\nx = <></>\n``` b", True),
        ("```tsx\nconst a = <T>(b: T) => b\n```", False),
        ("```jsx\nconst a = (b: T) => b\n```", False),
    ],
)
def test_blocks_of_grammars_with_modes(text: str, expected: bool) -> None:
    assert accepts(compiled("jsx", "tsx"), text) == expected


def test_grammars_of_characters_alone_are_compiled_ahead_of_time() -> None:
    tag = psc.Grammar.from_structural_tag(fenced("json", "toml"))
    artifact = psc.compile_ahead_of_time(tag, byte_tokenizer())
    assert not artifact.is_lazy
    assert accepts(artifact, "a\n```toml\nb = [1, 2]\n```\n")
    assert not accepts(artifact, "a\n```toml\nb = [1 2]\n```\n")


def test_the_key_of_an_artifact_has_the_grammars_that_are_named() -> None:
    tag, vocabulary = psc.Grammar.from_structural_tag(fenced("toml", "json")), byte_tokenizer()
    files = [(f"{name}.ebnf", hashlib.sha256(bundled_text(name).encode()).hexdigest()) for name in ("json", "toml")]
    assert list(tag.imports) == files
    assert tag.key == tag.request.key()
    artifact = psc.compile_ahead_of_time(tag, vocabulary)
    assert artifact.metadata["grammar"]["imports"] == [list(file) for file in files]
    assert input_key_of(artifact.metadata) == tag.key.for_tokenizer(vocabulary)
    assert psc.Grammar.from_structural_tag({"type": "structural_tag", "format": {"type": "any_text"}}).imports == ()


def test_a_grammar_is_found_when_words_are_spelled_with_escapes() -> None:
    plain = json.dumps(fenced("toml"))
    escaped = plain.replace('"grammar"', '"gr\\u0061mmar"')
    assert '"grammar"' not in escaped
    assert find_imports(escaped) == find_imports(plain) != ()
    assert psc.Grammar.from_structural_tag(escaped).imports == psc.Grammar.from_structural_tag(plain).imports


def test_a_grammar_with_a_lexer_is_built_just_in_time_only() -> None:
    with pytest.raises(GrammarError, match="just in time by a GrammarCompiler"):
        psc.compile_ahead_of_time(psc.Grammar.from_structural_tag(fenced("go")), byte_tokenizer())


def test_masks_allow_what_is_accepted() -> None:
    text = b"x ```go\npackage p\nvar a = []int{1}\n```\n```json\n[1]\n``` "
    check_masks_along(compiled("json", "go", "toml"), byte_tokenizer(), text)
