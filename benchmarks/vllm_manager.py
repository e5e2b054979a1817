"""vLLM's own manager of structured outputs without a GPU, with the backend that is asked for: part of `serving.py`."""

import os
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("VLLM_TARGET_DEVICE", "cpu")

import vllm.v1.structured_output as output
from vllm.sampling_params import SamplingParams, StructuredOutputsParams
from vllm.v1.request import Request

from psc.adapters.vllm import register
from psc.adapters.vllm.installation import uninstall
from psc.adapters.vllm.seams import find_seams

ENGINES = ("psc", "psc-ids", "xgrammar", "guidance")
"""`psc-ids` is psc with a table of mask rows in the workers."""


class Manager:
    """A manager of vLLM, for one tokenizer.

    Args:
        engine: one of `ENGINES`.
        tokenizer: of transformers.
        vocab_size: number of logits.
        drafts: speculative tokens a step.
    """

    def __init__(self, engine: str, tokenizer: Any, vocab_size: int, drafts: int) -> None:
        self.backend = "guidance" if engine == "guidance" else "xgrammar"
        self.tokenizer = tokenizer
        self.is_psc = engine in ("psc", "psc-ids")
        self.config = SimpleNamespace(
            parallel_config=SimpleNamespace(distributed_executor_backend="external_launcher"),
            scheduler_config=SimpleNamespace(max_num_seqs=512),
            model_config=SimpleNamespace(
                skip_tokenizer_init=False,
                get_vocab_size=lambda: vocab_size,
                is_diffusion=False,
                hf_config=SimpleNamespace(model_type="llama"),
            ),
            structured_outputs_config=SimpleNamespace(
                backend=self.backend,
                disable_any_whitespace=False,
                disable_additional_properties=False,
                reasoning_parser="",
                reasoning_parser_plugin="",
                enable_in_reasoning=False,
            ),
            speculative_config=SimpleNamespace(num_speculative_tokens=drafts) if drafts else None,
            num_speculative_tokens=drafts,
            additional_config={"psc": {"mask_table_mb": 256}} if engine == "psc-ids" else {},
        )
        self.switch()
        output.cached_tokenizer_from_config = lambda model_config: tokenizer
        self.manager = output.StructuredOutputManager(self.config)

    def switch(self) -> None:
        """Puts psc, or vLLM's own backend, into place; each manager keeps the backend that it has made."""
        seams = find_seams()
        assert seams is not None
        if self.is_psc:
            register()
        else:
            uninstall(seams)

    def admit(self, name: str, **constraint: Any) -> Request:
        """A request that was validated and whose grammar is compiled. Raises what vLLM would tell the client."""
        given = SamplingParams(structured_outputs=StructuredOutputsParams(**constraint), max_tokens=64)
        given.update_from_generation_config({}, self.tokenizer.eos_token_id)
        given._validate_structured_outputs(self.config.model_config, self.config.structured_outputs_config, self.tokenizer)
        request = Request(request_id=name, prompt_token_ids=[1], sampling_params=given, pooling_params=None)
        self.manager.grammar_init(request)
        grammar = request.structured_output_request.grammar
        if isinstance(grammar, Exception):
            raise grammar
        return request
