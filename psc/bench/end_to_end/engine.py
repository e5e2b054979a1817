"""vLLM in a process of its own, in whatever interpreter has it: commands come as lines of JSON, figures go back the same way.

The idea: this file is run by its path, so that psc need not be installed beside vLLM, and it imports nothing of psc unless psc is
what is measured, or converts a model. The engine runs inside this process, and each of its steps is a call here: what a step
takes is read off two clocks around it, and nothing else is in between. A slice of a measurement keeps the batch full: where a
request ends, the next begins.

*Teacher forcing*: a logits processor gives the reference text's next token the highest logit, after the mask was applied, and the
tokens are sampled greedily. So the model's step runs, the mask is made and applied, and the text is the same for all. It also
looks whether the mask forbids that token.

Example: `{"do": "slice", "works": [{"prompt": [1, 2], "constraint": {"json": "{}"}}], "batch": 1, "seconds": 5}`.

Cost: starting takes 20 to 60 s on two cores, and 2 to 3 GB.

What was tried: vLLM's engine as a process of its own, as a server has it. It adds the time of messages, a millisecond a step, and
what a step does mixes with what the other process does meanwhile.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

FORCED: Final = "psc_forced"
"""Of a request's extra arguments: the tokens that it is to write."""
_HIGHEST: Final = 1e30


def model_folder(spec: str) -> str:
    """The folder of a model that a package of this interpreter has, made where it is not there yet."""
    from psc.generation.converted import model_folder

    return str(model_folder(spec))


def _forcing() -> type:
    """The logits processor of teacher forcing; made here, since its base is vLLM's."""
    import torch
    from vllm.v1.sample.logits_processor.interface import LogitsProcessor, MoveDirectionality

    class Forcing(LogitsProcessor):  # type: ignore[misc]
        masked = 0
        """Forced tokens that their mask forbade."""

        def __init__(self, vllm_config: Any, device: Any, is_pin_memory: bool) -> None:
            self._rows: dict[int, tuple[list[int], list[int]]] = {}

        def is_argmax_invariant(self) -> bool:
            return False

        def update_state(self, batch_update: Any) -> None:
            if batch_update is None:
                return
            for row in batch_update.removed:
                self._rows.pop(row, None)
            for row, params, _, written in batch_update.added:
                self._rows.pop(row, None)
                forced = (params.extra_args or {}).get(FORCED)
                if forced:
                    self._rows[row] = forced, written
            for here, there, kind in batch_update.moved:
                mine, its = self._rows.pop(here, None), self._rows.pop(there, None)
                if mine is not None:
                    self._rows[there] = mine
                if its is not None and kind == MoveDirectionality.SWAP:
                    self._rows[here] = its

        def apply(self, logits: Any) -> Any:
            if not self._rows:
                return logits
            rows = list(self._rows)
            tokens = [forced[min(len(written), len(forced) - 1)] for forced, written in self._rows.values()]
            Forcing.masked += int(torch.isinf(logits[rows, tokens]).sum())
            logits[rows, tokens] = _HIGHEST
            return logits

    return Forcing


class Engine:
    """A model in vLLM, with one backend for structured outputs.

    Args:
        model: a folder in Transformers' layout.
        backend: "none", "psc", "guidance" or "xgrammar".
        sequences: the largest batch.
        length: tokens of prompt and text together.
        options: of psc, as `additional_config` has them.
    """

    def __init__(self, model: str, backend: str, sequences: int, length: int, options: dict[str, Any]) -> None:
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        os.environ["PSC_VLLM"] = "require" if backend == "psc" else "0"
        began = time.perf_counter()
        _as_on_a_cpu()
        from vllm import LLM, SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        if backend == "psc":
            from psc.adapters.vllm import register

            register()
        self._params: Any = SamplingParams
        self._outputs: Any = StructuredOutputsParams
        self._kind: Any = RequestOutputKind.DELTA
        self._forcing: Any = _forcing()
        more: dict[str, Any] = {"additional_config": {"psc": options}} if backend == "psc" else {}
        self._llm: Any = LLM(
            model=model,
            max_model_len=length,
            max_num_seqs=sequences,
            enforce_eager=True,
            logits_processors=[self._forcing],
            structured_outputs_config={"backend": {"psc": "xgrammar", "none": "auto"}.get(backend, backend)},
            **more,
        )
        self._engine: Any = self._llm.llm_engine
        self._core: Any = self._engine.engine_core.engine_core
        self._tokenizer: Any = self._llm.get_tokenizer()
        self._end = int(self._tokenizer.eos_token_id)
        self._serial = 0
        self.seconds = time.perf_counter() - began

    def about(self) -> dict[str, Any]:
        """Versions, and the time that starting took."""
        from importlib.metadata import PackageNotFoundError, version

        found: dict[str, str] = {}
        for name in ("vllm", "vllm-cpu", "torch", "xgrammar", "llguidance"):
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                continue
        psc: Any = sys.modules.get("psc")
        if psc is not None:
            found["psc"] = psc.__version__
        vocabulary = int(self._engine.vllm_config.model_config.get_vocab_size())
        return {"versions": found, "seconds": self.seconds, "vocabulary": vocabulary, "end": self._end}

    def encoded(self, texts: list[str], *, chat: bool) -> list[list[int]]:
        """Tokens of texts; of a chat in which the user says a text and the model is to speak."""
        if not chat:
            return [list(self._tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts]
        found = []
        for text in texts:
            filled = self._tokenizer.apply_chat_template(
                [{"role": "user", "content": text}], add_generation_prompt=True, tokenize=False
            )
            found.append(list(self._tokenizer(filled, add_special_tokens=False)["input_ids"]))
        return found

    def stored(self, works: list[dict[str, Any]], folder: str) -> dict[str, Any]:
        """Compiles the works' grammars ahead of time into the engine's store, those that are not there yet.

        Returns: the seconds and bytes of each that was compiled, and why others were not.
        """
        from psc.adapters.vllm.backend import SERVICES
        from psc.adapters.vllm.configuration import options_of
        from psc.artifacts.store import Store
        from psc.errors import PscError
        from psc.grammars.build_grammar import artifact_bytes

        config = self._engine.vllm_config
        options = options_of(config)
        assert options is not None
        service = SERVICES.get(options, self._core.structured_output_manager.tokenizer, config.model_config.get_vocab_size())
        seconds: list[float] = []
        sizes: list[int] = []
        refused: list[str] = []
        for kind, text in dict.fromkeys(next(iter(work["constraint"].items())) for work in works):
            try:
                compiled = service.compile(kind, text)
                if not compiled.is_lazy:
                    continue
                began = time.perf_counter()
                data = artifact_bytes(compiled.grammar, compiled.tokenizer_info)
                seconds.append(time.perf_counter() - began)
                sizes.append(len(data))
                Store(folder).add(data)
            except PscError as error:
                refused.append(str(error))
        service.close()  # else the grammars that were built just in time would be served
        return {"seconds": seconds, "bytes": sizes, "refused": refused}

    def accepted(self, works: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Of each work: what refuses it, or how many tokens of its text the backend takes, and seconds to its first mask.

        The backend forgets these grammars, so that later requests meet them for the first time.
        """
        found = [self._accepted(work) for work in works]
        backend = self._core.structured_output_manager.backend
        service = getattr(backend, "service", None)  # psc's; XGrammar has its compiler there, and guidance remembers nothing
        compiler = getattr(service or backend, "compiler", None)
        if compiler is not None:
            compiler.clear_cache()
        return found

    def _accepted(self, work: dict[str, Any]) -> dict[str, Any]:
        from vllm.v1.request import Request

        identity = self._new_id()
        try:
            params = self._sampling(work, max_tokens=8, temperature=0.0)
            made = self._engine.input_processor.process_inputs(
                identity, {"prompt_token_ids": work["prompt"]}, params, supported_tasks=self._engine.get_supported_tasks()
            )
            request = Request.from_engine_core_request(made, None)
            began = time.perf_counter()
            manager = self._core.structured_output_manager
            manager.grammar_init(request)
            while not request.structured_output_request.is_grammar_ready:
                time.sleep(0.0002)
            grammar = request.structured_output_request.grammar
            if isinstance(grammar, Exception):
                raise grammar
            mask = manager.backend.allocate_token_bitmask(1)
            grammar.fill_bitmask(mask, 0)
            seconds = time.perf_counter() - began
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:500]}
        taken = 0
        for token in work["forced"]:
            if grammar.is_terminated() or not grammar.accept_tokens(identity, [token]):
                break
            taken += 1
        grammar.fill_bitmask(mask, 0)
        ends = taken == len(work["forced"]) and bool(int(mask[0][self._end // 32]) >> (self._end % 32) & 1)
        return {"seconds": seconds, "taken": taken, "ends": ends}

    def slice(
        self, works: list[dict[str, Any]], *, batch: int, seconds: float, at: int, max_tokens: int, forced: bool, seed: int
    ) -> dict[str, Any]:
        """Steps of full batches for some seconds, from the work `at`; the requests that are left are given up.

        Returns: seconds and tokens of steps in which no request began, those of all steps, seconds until first tokens, between
        tokens, of the processor, and the number of requests that ended, that failed, and of forced tokens that were masked.
        """
        masked = self._forcing.masked
        running: dict[str, list[float]] = {}
        first: list[float] = []
        between: list[float] = []
        kept = {"steps": 0, "tokens": 0, "seconds": 0.0}
        whole = {"tokens": 0, "ended": 0, "failed": 0, "refused": 0}
        cpu, began = time.process_time(), time.perf_counter()
        until = began + seconds
        while time.perf_counter() < until or not whole["tokens"]:
            while len(running) < batch:
                work = works[at % len(works)]
                at += 1
                try:
                    running[self._add(work, max_tokens, forced=forced, seed=seed + at)] = [time.perf_counter()]
                except ValueError:
                    whole["refused"] += 1
                    if whole["refused"] >= len(works):
                        return {"error": "all of its requests are refused"}
            step = time.perf_counter()
            outputs = self._engine.step()
            now = time.perf_counter()
            new, begins = 0, False
            for output in outputs:
                written = output.outputs[0]
                times = running[output.request_id]
                if written.token_ids:
                    new += len(written.token_ids)
                    if len(times) == 1:
                        begins = True
                        first.append(now - times[0])
                    else:
                        between.append(now - times[1])
                    times[1:] = [now]
                if output.finished:
                    del running[output.request_id]
                    whole["ended" if written.finish_reason in ("stop", "length") else "failed"] += 1
            whole["tokens"] += new
            if not begins and new == batch:
                kept["steps"] += 1
                kept["tokens"] += new
                kept["seconds"] += now - step
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        self._engine.abort_request(list(running))
        while self._engine.has_unfinished_requests():
            self._engine.step()
        return {
            "steps": kept["steps"],
            "tokens": kept["tokens"],
            "seconds": kept["seconds"],
            "all_tokens": whole["tokens"],
            "all_seconds": took,
            "cpu_seconds": cpu,
            "first": first,
            "between": between,
            "ended": whole["ended"],
            "failed": whole["failed"],
            "refused": whole["refused"],
            "masked": self._forcing.masked - masked,
        }

    def texts(
        self, works: list[dict[str, Any]], *, batch: int, max_tokens: int, temperature: float, seed: int
    ) -> Iterator[dict[str, Any]]:
        """What the model writes for each work: its text, how it came to its end, and its number; as they end."""
        left = list(enumerate(works))[::-1]
        running: dict[str, tuple[int, list[str], list[int]]] = {}
        while left or running:
            while left and len(running) < batch:
                n, work = left.pop()
                try:
                    identity = self._add(work, max_tokens, forced=False, seed=seed + n, temperature=temperature)
                    running[identity] = n, [], []
                except ValueError as error:
                    yield {"n": n, "text": "", "tokens": 0, "end": "refused", "error": str(error)[:300]}
            for output in self._engine.step() if running else ():
                n, text, tokens = running[output.request_id]
                text.append(output.outputs[0].text)
                tokens += output.outputs[0].token_ids
                if output.finished:
                    del running[output.request_id]
                    yield {"n": n, "text": "".join(text), "tokens": len(tokens), "end": output.outputs[0].finish_reason}

    def _add(self, work: dict[str, Any], max_tokens: int, *, forced: bool, seed: int, temperature: float = 0.8) -> str:
        params = self._sampling(work, max_tokens=max_tokens, temperature=0.0 if forced else temperature, seed=seed)
        if forced:
            params.extra_args = {FORCED: [*work["forced"], self._end]}
        identity = self._new_id()
        self._engine.add_request(identity, {"prompt_token_ids": work["prompt"]}, params)
        return identity

    def _sampling(self, work: dict[str, Any], **named: Any) -> Any:
        constraint = work.get("constraint")
        outputs = self._outputs(**constraint) if constraint else None
        return self._params(structured_outputs=outputs, output_kind=self._kind, **named)

    def _new_id(self) -> str:
        self._serial += 1
        return f"r{self._serial}"


def _as_on_a_cpu() -> None:
    """vLLM asks for the metadata of `vllm`: its build for CPUs has another name, and no suffix that says which device it is for."""
    from importlib import metadata

    try:
        metadata.version("vllm")
    except metadata.PackageNotFoundError:
        os.environ.setdefault("VLLM_TARGET_DEVICE", "cpu")
        original = metadata.version

        def version(distribution_name: str) -> str:
            return original("vllm-cpu" if distribution_name == "vllm" else distribution_name)

        metadata.version = version


def main() -> None:
    """Takes a command a line, and answers in a line; where a command says `many`, in several, the last of which is null."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # vLLM and its libraries print there
    engine: Engine | None = None
    for line in sys.stdin:
        command = json.loads(line)
        do, many = command.pop("do"), command.pop("many", False)
        try:
            if do == "model_folder":
                answer: Any = model_folder(**command)
            elif do == "start":
                engine = Engine(**command)
                answer = engine.about()
            else:
                answer = getattr(engine, do)(**command)
            for each in answer if many else ():
                replies.write(json.dumps({"answer": each}) + "\n")
                replies.flush()
            reply = {"answer": None if many else answer}
        except Exception as error:
            import traceback

            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
