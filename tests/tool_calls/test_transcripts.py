"""What each model's chat template prints is accepted by its structural tag, and a text in which a marker is broken is stopped."""

import json
from functools import cache

import pytest
from tool_calls.parameter_texts import written
from tool_calls.transcripts import TOOLS, TRANSCRIPTS
from vocabularies import byte_tokenizer

import psc

COMPILER = psc.GrammarCompiler(byte_tokenizer(), store=False)
WEATHER = {"type": "function", "function": {"name": "get_weather"}}
SAID = "One moment."  # by kimi_k3, which has a response before the tools


@cache
def grammar(model, choice, reasoning, parallel=True):
    asked = WEATHER if choice == "forced" else choice
    tag = psc.get_model_structural_tag(model, TOOLS, asked, reasoning, parallel_tool_calls=parallel)
    return COMPILER.compile_structural_tag(tag)


def accepts(compiled, text):
    matcher = psc.GrammarMatcher(compiled, terminate_without_stop_token=True)
    return matcher.accept_string(text) and matcher.is_terminated()


def without_reasoning(model, text):
    """The same behind a prompt without reasoning."""
    if model == "kimi_k3":
        return text.removeprefix("<|open|>response<|sep|>")
    return "\n</think>\n\n" + text if model == "minimax" else text


@pytest.mark.parametrize("model", TRANSCRIPTS)
def test_transcripts(model):
    t = TRANSCRIPTS[model]
    assert accepts(grammar(model, "required", "enabled"), t.thinking + t.one)
    assert accepts(grammar(model, "required", "enabled"), t.thinking + t.two)
    assert accepts(grammar(model, "auto", "enabled"), t.thinking + t.one)
    assert accepts(grammar(model, "auto", "disabled"), without_reasoning(model, t.two))
    assert accepts(grammar(model, "auto", "auto"), t.one)
    assert accepts(grammar(model, "forced", "enabled"), t.thinking + t.one)
    assert not accepts(grammar(model, "forced", "enabled"), t.thinking + t.two)
    assert accepts(grammar(model, "required", "enabled", parallel=False), t.thinking + t.one)
    assert not accepts(grammar(model, "required", "enabled", parallel=False), t.thinking + t.two)
    assert not accepts(grammar(model, "auto", "enabled", parallel=False), t.thinking + t.two)
    for choice in ("required", "forced"):
        assert not accepts(grammar(model, choice, "enabled"), t.thinking)
        assert not accepts(grammar(model, choice, "disabled"), "")
    if t.thinking and model != "harmony":  # whose reasoning is a message, and may be left out
        assert not accepts(grammar(model, "required", "enabled"), t.one)


@pytest.mark.parametrize("model", TRANSCRIPTS)
def test_a_broken_marker_is_stopped(model):
    t = TRANSCRIPTS[model]
    text = without_reasoning(model, t.one)
    free = [i for said in (SAID, t.arguments) if said in text for i in range(text.index(said), text.index(said) + len(said))]
    matcher = psc.GrammarMatcher(grammar(model, "required", "disabled", parallel=False), terminate_without_stop_token=True)
    for i, c in enumerate(text):
        if i not in free:
            for broken in (text[i + 1 :], ("~" if c != "~" else "!") + text[i + 1 :]):
                if model == "harmony" and broken.startswith("<|constrain|>") and c == " ":
                    continue  # the header has a second spelling, without the space
                fork = matcher.fork()
                assert not (fork.accept_string(broken) and fork.is_terminated()), text[:i] + "⟨broken⟩" + broken
        assert matcher.accept_string(c)
    assert matcher.is_terminated()


STYLES = {
    "qwen_3_5": "qwen_xml",
    "mimo": "qwen_xml",
    "glm_4_7": "glm_xml",
    "deepseek_v3_2": "deepseek_xml",
    "deepseek_v4_1": "deepseek_v4_1_xml",
    "minimax": "minimax_xml",
    "minimax_m3": "minimax_m3_xml",
    "cohere": "cohere_xml",
    "kimi_k3": "kimi_k3_xml",
}


@pytest.mark.parametrize("model", TRANSCRIPTS)
def test_any_arguments_go_through(model):
    t = TRANSCRIPTS[model]
    compiled = grammar(model, "forced", "disabled")
    if model in STYLES:
        spell = lambda arguments: written(STYLES[model], arguments)  # noqa: E731
    elif '{"' in t.arguments:
        spell = lambda arguments: json.dumps(arguments, ensure_ascii=False)  # noqa: E731
    else:
        spell = lambda arguments: written("deepseek_xml" if "deepseek" in model else "qwen_xml", arguments)  # noqa: E731
    around = without_reasoning(model, t.begin + t.call + t.end).split("ARGUMENTS")
    for city in ("", "São Paulo \n 日本", '"quoted" \\ <b> & </b>', "</param <| ]<]"):
        assert accepts(compiled, around[0] + spell({"city": city, "days": -12}) + around[1])
    for wrong in ({"city": "x"}, {"city": "x", "days": "many"}, {"city": "x", "days": 1, "more": 2}):
        assert not accepts(compiled, around[0] + spell(wrong) + around[1]), wrong


@pytest.mark.parametrize("model", sorted(TRANSCRIPTS.keys() - {"harmony", "kimi_k3"}))
def test_free_text_around_calls(model):
    t = TRANSCRIPTS[model]
    call = t.one.lstrip("\n")
    auto = grammar(model, "auto", "disabled")
    text = without_reasoning(model, "Well, <b>x</b>: ")
    assert accepts(auto, text) and accepts(auto, text + call)
    after = accepts(auto, text + call + " and more")
    assert after and not accepts(grammar(model, "auto", "disabled", parallel=False), text + call + " and more")
    assert not accepts(auto, text + call.replace("get_weather", "get_rain"))
    assert accepts(grammar(model, "none", "disabled"), text)


def test_harmony_messages():
    analysis = "<|channel|>analysis<|message|>So <b>.<|end|>"
    preamble = "<|channel|>commentary<|message|>I look that up.<|end|>"
    final = "<|channel|>final<|message|>Sunny.<|return|>"
    next_ = "<|start|>assistant"
    call = TRANSCRIPTS["harmony"].one
    auto, required = grammar("harmony", "auto", "enabled"), grammar("harmony", "required", "enabled")
    for text in ("", final, analysis + next_ + final, analysis + next_ + preamble + next_ + call):
        assert accepts(auto, text), text
    assert accepts(required, analysis + next_ + preamble + next_ + call)
    for text in ("", analysis, preamble, final, analysis + next_, analysis + call):
        assert not accepts(required, text), text
    assert accepts(required, call + next_ + call) and not accepts(
        grammar("harmony", "required", "enabled", False), call + next_ + call
    )
    role = " to=functions.get_weather<|channel|>commentary json<|message|>" + TRANSCRIPTS["harmony"].arguments + "<|call|>"
    assert accepts(required, role) and accepts(grammar("harmony", "forced", "enabled"), analysis + next_ + role)
    assert not accepts(grammar("harmony", "forced", "disabled"), analysis + next_ + role)
    one = grammar("harmony", "auto", "enabled", False)
    assert accepts(one, analysis + next_ + call) and accepts(one, "") and not accepts(one, call + next_ + final)
