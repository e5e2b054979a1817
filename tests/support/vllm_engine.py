"""vLLM's own manager, requests and parameters on a machine without a GPU, and a small tokenizer for them."""

from __future__ import annotations

import os
import warnings
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("VLLM_TARGET_DEVICE", "cpu")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of vLLM's own imports
    import tokenizers
    import transformers
    import vllm.v1.structured_output as output
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams
    from vllm.v1.request import Request

_MERGES = [
    "t r",
    "f a",
    "l s",
    "tr u",
    "tru e",
    "fa ls",
    "fals e",
    "n u",
    "l l",
    "nu ll",
    '" :',
    ", Ġ",
    '" ,',
    '{ "',
    "a b",
    "a bc",
    "b c",
    "Ġ Ġ",
]
SPECIAL = ["<|end|>", "<think>", "</think>", "<tool_call>", "</tool_call>"]


@cache
def tokenizer() -> Any:
    """A fast tokenizer of transformers: the 256 bytes, some merges, and special tokens, the first of which ends texts."""
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {c: i for i, c in enumerate(alphabet)}
    for merge in _MERGES:
        vocabulary.setdefault(merge.replace(" ", ""), len(vocabulary))
    merges = [tuple(m.split(" ")) for m in _MERGES]
    model = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=merges))
    model.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = tokenizers.decoders.ByteLevel()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=model, eos_token=SPECIAL[0], additional_special_tokens=SPECIAL[1:], name_or_path="small"
    )


def config(
    *, drafts: int = 0, backend: str = "xgrammar", reasoning: bool = False, additional: Any = None, vocab_size: int = 0, **more: Any
) -> Any:
    """What the manager asks of vLLM's configuration.

    Args:
        drafts: speculative tokens a step.
        backend: its name.
        reasoning: whether a reasoning parser is to be made.
        additional: ``additional_config``.
        vocab_size: number of logits; by default three more than the tokenizer has.
        more: of ``structured_outputs_config``.
    """
    size = vocab_size or len(tokenizer()) + 3
    outputs = {
        "backend": backend,
        "disable_any_whitespace": False,
        "reasoning_parser": "",
        "reasoning_parser_plugin": "",
        "enable_in_reasoning": False,
    }
    return SimpleNamespace(
        parallel_config=SimpleNamespace(distributed_executor_backend="external_launcher"),
        scheduler_config=SimpleNamespace(max_num_seqs=512),
        model_config=SimpleNamespace(
            skip_tokenizer_init=False,
            get_vocab_size=lambda: size,
            is_diffusion=False,
            hf_config=SimpleNamespace(model_type="llama"),
        ),
        structured_outputs_config=SimpleNamespace(**{**outputs, **more}),
        speculative_config=SimpleNamespace(num_speculative_tokens=drafts) if drafts else None,
        num_speculative_tokens=drafts,
        additional_config={} if additional is None else {"psc": additional},
    )


def manager(given: Any = None, with_tokenizer: Any = None) -> Any:
    """vLLM's manager, with compilation in the calling thread."""
    before = output.cached_tokenizer_from_config
    output.cached_tokenizer_from_config = lambda model_config: with_tokenizer or tokenizer()
    try:
        made = output.StructuredOutputManager(config() if given is None else given)
    finally:
        output.cached_tokenizer_from_config = before
    if not hasattr(made, "accept_tokens"):
        made.accept_tokens, made.validate_tokens = partial(_accept, made), partial(_validate, made)
    return made


def _accept(of: Any, request: Request, tokens: list[int]) -> bool:
    """What the scheduler does for itself in releases before 0.30."""
    if not of.should_advance(request, new_token_ids=tokens):
        return True
    taken = of.trim_reasoning_for_advance(request, tokens)
    return not taken or request.structured_output_request.grammar.accept_tokens(request.request_id, taken)


def _validate(of: Any, request: Request, tokens: list[int]) -> list[int]:
    """Likewise, with drafts."""
    return request.structured_output_request.grammar.validate_tokens(tokens) if of.should_advance(request) else tokens


def parameters(backend: str = "xgrammar", stop_token_ids: list[int] | None = None, **constraint: Any) -> SamplingParams:
    """A request's parameters, as they are after vLLM has read them."""
    given = SamplingParams(structured_outputs=StructuredOutputsParams(**constraint), stop_token_ids=stop_token_ids, max_tokens=64)
    given.structured_outputs._backend = backend
    given.update_from_generation_config({}, tokenizer().eos_token_id)
    return given


def request(name: str, given: SamplingParams, prompt: tuple[int, ...] = (1, 2, 3)) -> Request:
    """A request as the scheduler has it."""
    return Request(request_id=name, prompt_token_ids=list(prompt), sampling_params=given, pooling_params=None)


def ready(of: Any, name: str, given: SamplingParams) -> Request:
    """A request whose grammar is compiled. Raises what compiling raised."""
    made = request(name, given)
    of.grammar_init(made)
    grammar = made.structured_output_request.grammar
    if isinstance(grammar, Exception):
        raise grammar
    return made
