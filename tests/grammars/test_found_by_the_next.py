"""Compiled by one user, found by the next: an artifact is found however the serving side got its tokenizer, and means the same."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from registries import server
from vocabularies import PIECES as WORDS

import psc
from psc.artifacts.store import Store
from psc.cli import main
from psc.compiler.frontends.lookup import find_grammar
from psc.errors import ArtifactError
from psc.vocabulary import load_tokenizer
from psc.vocabulary.spelling import byte_level_alphabet

PIECES = list(dict.fromkeys([*(bytes([b]) for b in range(256)), *(w.encode() if isinstance(w, str) else w for w in WORDS)]))
N = len(PIECES)
END, TURN, THINK = N, N + 1, N + 2
GRAMMAR = 'root ::= item ("," item)*\nitem ::= [a-z]+ | "<think>" | [0-9]+ "\\n"\n'


class Loaded:
    """As much of a transformers tokenizer as is read: the file it holds, and what it adds to that."""

    def __init__(self, document: dict[str, Any], folder: Path, special: tuple[int, ...] = ()) -> None:
        self._document = document
        self.name_or_path = str(folder)
        self.eos_token_id = END
        self.backend_tokenizer = self
        for entry in document["added_tokens"]:
            entry["special"] = entry["special"] or entry["id"] in special

    def to_str(self) -> str:
        return json.dumps(self._document)


def document() -> dict[str, Any]:
    """Bytes and words, two special tokens, and an added token that is text."""
    spelling = {byte: character for character, byte in byte_level_alphabet().items()}
    layout = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    added = [("<|endoftext|>", True), ("<|im_end|>", True), ("<think>", False)]
    return {
        "added_tokens": [{"id": N + i, "content": c, "special": s, "normalized": False} for i, (c, s) in enumerate(added)],
        "pre_tokenizer": layout,
        "decoder": layout,
        "model": {
            "type": "BPE",
            "vocab": {"".join(spelling[b] for b in piece): i for i, piece in enumerate(PIECES)},
            "merges": [],
            "byte_fallback": False,
        },
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder: the tokenizer, two stop tokens, more logits than tokens."""
    there = tmp_path / "models" / "small"
    there.mkdir(parents=True)
    (there / "tokenizer.json").write_text(json.dumps(document()))
    (there / "generation_config.json").write_text(json.dumps({"eos_token_id": [END, TURN]}))
    (there / "config.json").write_text(json.dumps({"vocab_size": N + 40}))
    return there


def run(*arguments: object) -> None:
    done = CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output


def loaded(folder: Path, **options: Any) -> psc.TokenizerInfo:
    return psc.TokenizerInfo.from_huggingface(Loaded(document(), folder), **options)


# How a serving side may get the tokenizer that somebody compiled for in a folder.
WAYS: dict[str, Callable[[Path], psc.TokenizerInfo]] = {
    "the folder": load_tokenizer,
    "the file alone": lambda folder: load_tokenizer(Path(shutil.copy(folder / "tokenizer.json", folder.parent / "other.json"))),
    "an object": loaded,
    "an object, as wide as the model": lambda folder: loaded(folder, vocab_size=N + 40),
    "an object, wider than the model": lambda folder: loaded(folder, vocab_size=N + 1000),
    "an object with the model's stop tokens": lambda folder: loaded(folder, stop_token_ids=[END, TURN]),
    "a text token that stops": lambda folder: loaded(folder, stop_token_ids=[END, THINK]),
    "a line break that stops": lambda folder: loaded(folder, stop_token_ids=[PIECES.index(b"\n")]),
    "a stop token beyond all tokens": lambda folder: loaded(folder, vocab_size=N + 40, stop_token_ids=[N + 39]),
    "sent as JSON": lambda folder: psc.TokenizerInfo.deserialize_json(loaded(folder, stop_token_ids=[THINK]).serialize_json()),
}


def assert_same_masks(found: psc.CompiledGrammar, built: psc.CompiledGrammar, seed: int) -> None:
    """Walks both through random texts of the grammar, to their ends."""
    rng = random.Random(seed)
    ended = 0
    for _ in range(12):
        a, b = psc.GrammarMatcher(found), psc.GrammarMatcher(built)
        for _ in range(25):
            assert a.is_terminated() == b.is_terminated()
            if a.is_terminated():
                break
            assert np.array_equal(a.mask(), b.mask())
            allowed = np.flatnonzero(np.unpackbits(a.mask().view(np.uint8), bitorder="little"))
            assert allowed.max(initial=0) < found.vocab_size
            stops = sorted(set(allowed.tolist()) & set(found.stop_token_ids))
            token = rng.choice(stops if stops and rng.random() < 0.2 else allowed.tolist())
            assert a.accept_token(token) and b.accept_token(token)
            ended += token in found.stop_token_ids
    assert ended


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_an_artifact_is_found_in_a_store(way: Callable[[Path], psc.TokenizerInfo], folder: Path, tmp_path: Path) -> None:
    (tmp_path / "g.ebnf").write_text(GRAMMAR)
    run("compile", tmp_path / "g.ebnf", "-t", folder, "-o", tmp_path / "g.psc", "--quiet")
    Store(tmp_path / "store").add((tmp_path / "g.psc").read_bytes())
    info = way(folder)
    found = psc.GrammarCompiler(info, store=tmp_path / "store").compile_file(tmp_path / "g.ebnf")
    assert not found.is_lazy
    assert (found.vocab_size, list(found.stop_token_ids)) == (info.vocab_size, info.stop_token_ids)
    built = psc.GrammarCompiler(info, store=False).compile_file(tmp_path / "g.ebnf")
    assert built.is_lazy
    assert_same_masks(found, built, seed=1)
    loaded_again = psc.load(tmp_path / "g.psc", tokenizer_info=info)
    assert_same_masks(loaded_again, built, seed=2)


@pytest.mark.parametrize("stops", [[THINK], [END, PIECES.index(b"\n")]])
def test_an_artifact_compiled_with_text_that_stops_is_found_without(stops: list[int], folder: Path, tmp_path: Path) -> None:
    """The other way round: the tables have the tokens that stopped where they were made."""
    (tmp_path / "g.ebnf").write_text(GRAMMAR)
    run(
        "compile",
        tmp_path / "g.ebnf",
        "-t",
        folder,
        "-o",
        tmp_path / "g.psc",
        "--stop-token-ids",
        ",".join(map(str, stops)),
        "--quiet",
    )
    Store(tmp_path / "store").add((tmp_path / "g.psc").read_bytes())
    info = loaded(folder)
    found = psc.GrammarCompiler(info, store=tmp_path / "store").compile_grammar(GRAMMAR)
    assert not found.is_lazy
    assert_same_masks(found, psc.GrammarCompiler(info, store=False).compile_grammar(GRAMMAR), seed=3)


def test_a_batch_is_found_over_http(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "g.ebnf").write_text(GRAMMAR)
    (tmp_path / "jobs.toml").write_text(f'[[jobs]]\ngrammars = ["g.ebnf", "json"]\ntokenizers = ["{folder}"]\n', encoding="utf-8")
    with server(tmp_path / "registry") as url:
        run("batch", tmp_path / "jobs.toml", "--store", tmp_path / "registry", "--quiet")
        compiler = psc.GrammarCompiler(loaded(folder), store=tmp_path / "store", registry=url, registry_patience_s=60)
        assert not compiler.compile_grammar(GRAMMAR).is_lazy
        assert not compiler.compile_file("json").is_lazy
        assert not compiler.compile_builtin_json_grammar().is_lazy
        assert not compiler.compile_grammar(psc.Grammar.builtin_json_grammar()).is_lazy


def test_text_there_that_is_special_here(folder: Path, tmp_path: Path) -> None:
    """transformers 5 and Gemma 3's `<mask>`: the artifact serves, and never allows the token."""
    (tmp_path / "g.ebnf").write_text(GRAMMAR)
    run("compile", tmp_path / "g.ebnf", "-t", folder, "-o", tmp_path / "g.psc", "--quiet")
    there = Store(tmp_path / "registry")
    there.add((tmp_path / "g.psc").read_bytes())
    there.write_index()
    info = psc.TokenizerInfo.from_huggingface(
        Loaded(document(), folder, special=(THINK,)), stop_token_ids=[END, PIECES.index(b"\n")]
    )
    assert info.fingerprint != load_tokenizer(folder).fingerprint
    built = psc.GrammarCompiler(info, store=False).compile_grammar(GRAMMAR)
    with server(there.root) as url:
        for options in ({"store": there.root}, {"registry": url, "registry_patience_s": 60.0}):
            compiler = psc.GrammarCompiler(info, **{"store": tmp_path / "store", **options}, cache_enabled=False)
            for _ in range(2):
                found = compiler.compile_file(tmp_path / "g.ebnf")
                assert not found.is_lazy and found.fingerprint == info.fingerprint == built.fingerprint
                assert_same_masks(found, built, seed=4)
    again = psc.CompiledGrammar.deserialize_json(found.serialize_json(), info)
    assert_same_masks(again, built, seed=5)


def test_other_text_is_another_vocabulary(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "g.ebnf").write_text(GRAMMAR)
    run("compile", tmp_path / "g.ebnf", "-t", folder, "-o", tmp_path / "g.psc", "--quiet")
    Store(tmp_path / "store").add((tmp_path / "g.psc").read_bytes())
    other = document()
    other["added_tokens"][2]["content"] = "<thought>"
    for special in ((), (THINK,)):
        info = psc.TokenizerInfo.from_huggingface(Loaded(other, folder, special=special))
        assert psc.GrammarCompiler(info, store=tmp_path / "store").compile_grammar(GRAMMAR).is_lazy
    with pytest.raises(ArtifactError, match="Compile the grammar for it"):
        psc.load(tmp_path / "g.psc", tokenizer_info=info)


def test_a_folder_says_what_is_special_as_the_object_does(folder: Path, tmp_path: Path) -> None:
    """tokenizer_config.json names a special token that tokenizer.json has as text: what the loaded object says, too."""
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"eos_token": {"content": "<|endoftext|>"}, "additional_special_tokens": ["<|im_end|>", "<think>"]})
    )
    (tmp_path / "g.ebnf").write_text(GRAMMAR)
    run("compile", tmp_path / "g.ebnf", "-t", folder, "-o", tmp_path / "g.psc", "--quiet")
    info = psc.TokenizerInfo.from_huggingface(Loaded(document(), folder, special=(THINK,)))
    assert load_tokenizer(folder).special_tokens[b"<think>"] == THINK
    assert not psc.load(tmp_path / "g.psc", tokenizer_info=info).is_lazy


def test_a_near_hit_says_what_differs(folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The grammar is there for the same tokenizer, seen in another way; in a store, in a folder, and behind HTTP."""
    (tmp_path / "g.ebnf").write_text(GRAMMAR)
    run("compile", tmp_path / "g.ebnf", "-t", folder, "-o", tmp_path / "g.psc", "--quiet")
    there = Store(tmp_path / "registry")
    there.add((tmp_path / "g.psc").read_bytes())
    there.write_index()
    # Text here, special where it was compiled: nothing of the artifact says whether such a token is allowed.
    seen = document()
    seen["added_tokens"][1]["special"] = False
    info = psc.TokenizerInfo.from_huggingface(Loaded(seen, tmp_path / "another name"))
    told = f"g for small is for other text tokens: token {TURN} '<|im_end|>' is text here, and not there"
    with server(there.root) as url:
        for options in ({"store": there.root}, {"registry": str(there.root)}, {"registry": url}):
            caplog.clear()
            options = {"store": tmp_path / "store", "registry_patience_s": 60.0, **options}
            with caplog.at_level("INFO", logger="psc"):
                assert psc.GrammarCompiler(info, **options).compile_file(tmp_path / "g.ebnf").is_lazy
            warned = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
            assert warned == [f"g for another-name: no artifact; there is: {told}"]
            assert any("not in the store" in m or "in none of the registries" in m for m in caplog.messages)
    assert not (tmp_path / "store" / "blobs").exists()


def test_a_near_hit_of_another_text_or_another_compiler(folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "g.ebnf").write_text(GRAMMAR)
    run("compile", tmp_path / "g.ebnf", "-t", folder, "-o", tmp_path / "g.psc", "--quiet")
    store = Store(tmp_path / "store")
    reference = store.add((tmp_path / "g.psc").read_bytes())
    (tmp_path / "g.ebnf").write_text(GRAMMAR + "# another text\n")
    compiler = psc.GrammarCompiler(loaded(folder), store=store.root)
    assert compiler.compile_file(tmp_path / "g.ebnf").is_lazy
    assert "there is: g for small is of another grammar text, start rule, lexer or option" in caplog.text
    caplog.clear()
    (tmp_path / "g.ebnf").write_text(GRAMMAR)
    source = find_grammar(tmp_path / "g.ebnf").request().key()
    assert source is not None
    older = replace(reference, compiler_revision=1, input_key=source.with_vocabulary(reference.fingerprint, compiler_revision=1))
    (store.root / reference.key_path).unlink()
    (store.root / reference.name_path).write_bytes(older.encode())
    assert compiler.compile_file(tmp_path / "g.ebnf").is_lazy
    assert "g for small is by compiler revision 1" in caplog.text
    assert caplog.records[-1].name == "psc.artifacts"


def test_the_bytes_do_not_depend_on_where_things_lie(folder: Path, tmp_path: Path) -> None:
    """The same grammar and tokenizer in two folders, compiled by the command and by a batch: no path is in the artifact."""
    elsewhere = tmp_path / "another place" / "small"
    shutil.copytree(folder, elsewhere)
    made = []
    for i, there in enumerate((folder, elsewhere)):
        (there.parent / "g.lark").write_text('start: "a" word\n%import .parts.word\n')
        (there.parent / "parts.lark").write_text("word: /[b-z]+/\n")
        run("compile", there.parent / "g.lark", "-t", there, "-o", tmp_path / f"{i}.psc", "--quiet")
        made.append((tmp_path / f"{i}.psc").read_bytes())
        (there.parent / "jobs.toml").write_text('[[jobs]]\ngrammars = ["g.lark"]\ntokenizers = ["./small"]\n', encoding="utf-8")
        run("batch", there.parent / "jobs.toml", "--store", tmp_path / f"store {i}", "--quiet")
        (reference,) = set(Store(tmp_path / f"store {i}").references())
        made.append((tmp_path / f"store {i}" / reference.blob_path).read_bytes())
    assert len(set(made)) == 1
    assert str(tmp_path).encode() not in made[0] and b"models" not in made[0] and b"another" not in made[0]


def test_a_tokenizer_object_from_a_folder_leaves_no_path(folder: Path) -> None:
    assert loaded(folder).name == "small"
    assert psc.TokenizerInfo.from_huggingface(Loaded(document(), Path("org/model"))).name == "org/model"
