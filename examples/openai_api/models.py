"""Language models: one with random weights, which needs no download, and those of Transformers."""

import json
import sys
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from random_model import RandomModel

import psc
from openai_api.errors import ApiError
from openai_api.sampling import Logits
from psc.generation.converted import prepared
from psc.generation.models import NAMED_MODELS, find_model

MODEL_COMMANDS = f"pip install '.[generate]' && {NAMED_MODELS[0].install_command}"
"""What installs the default model, and what reads it."""

Messages = Sequence[dict[str, Any]]


class Generation(Protocol):
    """A text that is being made."""

    logits: Logits
    """Of the next token: float32, (vocab_size,)."""

    def feed(self, token: int, expected: Sequence[int] = ()) -> None:
        """Takes a token.

        Args:
            token: that was drawn.
            expected: tokens that come next unless another one is drawn; a model may read them already.
        """


class LanguageModel(Protocol):
    """What a server needs of a model. May be used from several threads."""

    name: str
    info: psc.TokenizerInfo
    format_name: str | None
    """Of its tool calls, see docs/tool-calls.md; None: it is not known."""
    max_length: int
    """Tokens of a prompt and its text together."""

    def chat_prompt(self, messages: Messages, tools: Sequence[dict[str, Any]]) -> list[int]:
        """A conversation as tokens."""

    def prompt(self, text: str) -> list[int]:
        """A text as tokens."""

    def begin(self, prompt: list[int]) -> Generation:
        """A text that follows a prompt."""


class RandomLanguageModel:
    """A model that knows no language; it reads the last 64 bytes of its prompt."""

    def __init__(self, tokenizer: str, format_name: str | None = None) -> None:
        self.info = psc.load_tokenizer(tokenizer)
        self.name = f"random-{tokenizer}"
        self.format_name = format_name or usual_format(tokenizer)
        self.max_length = sys.maxsize
        self._model = RandomModel(self.info)

    def chat_prompt(self, messages: Messages, tools: Sequence[dict[str, Any]]) -> list[int]:
        """The bytes of the messages."""
        return self.prompt(conversation(messages))

    def prompt(self, text: str) -> list[int]:
        """The bytes of the text."""
        return list(text.encode())

    def begin(self, prompt: list[int]) -> Generation:
        """A text that follows a prompt."""
        return _RandomGeneration(self._model, prompt[-64:] or [0])


class _RandomGeneration:
    def __init__(self, model: RandomModel, prompt: list[int]) -> None:
        self._model, self._state = model, model.start(1)
        for token in prompt:
            self.feed(token)

    def feed(self, token: int, expected: Sequence[int] = ()) -> None:
        self._state, logits = self._model(self._state, np.array([token]))
        self.logits = logits[0]


class TransformersLanguageModel:
    """A model of Transformers. It runs where Transformers puts it, and makes each text alone.

    One thread does all forward passes: torch keeps a pool of threads for each thread that calls it.

    Args:
        spec: as `psc generate --model` takes it.
        format_name: of its tool calls; None goes by the model's type.
        progress: is told the name of each step of loading as it begins.

    Raises:
        psc.PscError: there is no such model, or what it needs is not installed.
    """

    def __init__(self, spec: str, format_name: str | None = None, progress: Callable[[str], None] = lambda step: None) -> None:
        with prepared(find_model(spec), keep=True, progress=progress) as files:
            from psc.generation.language_model import LanguageModel as Loaded

            loaded = Loaded(files, progress=progress)
        self._tokenizer, self._model = loaded.tokenizer, loaded.model
        self._thread = ThreadPoolExecutor(1, "model")
        ends = self._model.generation_config.eos_token_id
        self.info = psc.TokenizerInfo.from_huggingface(
            self._tokenizer, vocab_size=self._model.config.vocab_size, stop_token_ids=[ends] if isinstance(ends, int) else ends
        )
        self.name = Path(spec).resolve().name.removesuffix(".gguf")
        self.format_name = format_name or usual_format(self.name) or usual_format(self._model.config.model_type)
        self.max_length = loaded.max_length

    def chat_prompt(self, messages: Messages, tools: Sequence[dict[str, Any]]) -> list[int]:
        """The conversation in the model's chat template; without one, the messages one after the other."""
        from jinja2 import TemplateError

        template = self._tokenizer.chat_template
        if template is None:
            return self.prompt(conversation(messages))
        read = [_as_templates_read(m) for m in messages]
        if tools and "tools" not in str(template):
            read = _with_tools(read, tools)
        try:
            filled = self._tokenizer.apply_chat_template(
                read, tools=list(tools) or None, add_generation_prompt=True, tokenize=False, enable_thinking=False
            )
        except TemplateError as e:
            raise ApiError(f"messages: the model's chat template takes no such conversation: {e}", "messages") from e
        ids: list[int] = self._tokenizer(filled, add_special_tokens=False)["input_ids"]
        return ids

    def prompt(self, text: str) -> list[int]:
        """The text's tokens, with those that the tokenizer puts around it."""
        ids: list[int] = self._tokenizer(text)["input_ids"]
        return ids

    def begin(self, prompt: list[int]) -> Generation:
        """A text that follows a prompt."""
        return _TransformersGeneration(self._model, self._thread, prompt or [self.info.stop_token_ids[0]])


class _TransformersGeneration:
    def __init__(self, model: Any, thread: Executor, prompt: list[int]) -> None:
        self._model, self._thread, self._past = model, thread, None
        # Transformers 5.24 has renamed the argument and the field of the output.
        names = signature(model.forward).parameters
        self._cache = "cache" if "cache" in names else "past_key_values"
        self._ahead: deque[tuple[int, Logits]] = deque()  # what was read already, and the logits after it
        self.logits = self._logits(prompt, 1)[0]

    def feed(self, token: int, expected: Sequence[int] = ()) -> None:
        if self._ahead and self._ahead[0][0] == token:
            self.logits = self._ahead.popleft()[1]
            return
        if self._ahead:  # another one was expected
            self._past.crop(-len(self._ahead))
            self._ahead.clear()
        more = list(expected) if self._can_forget else []
        self.logits, *logits = self._logits([token, *more], 1 + len(more))
        self._ahead.extend(zip(more, logits, strict=True))

    @property
    def _can_forget(self) -> bool:
        """Whether what was read can be taken back: neither of a recurrent state nor beyond a window."""
        past = self._past
        return hasattr(past, "crop") and getattr(past, "is_croppable", True) and not any(getattr(past, "is_sliding", ()))

    def _logits(self, tokens: list[int], n: int) -> Logits:
        """The logits after each of the last n of the tokens."""
        return self._thread.submit(self._read, tokens, n).result()

    def _read(self, tokens: list[int], n: int) -> Logits:
        import torch

        ids = torch.tensor([tokens], device=self._model.device)
        with torch.inference_mode():
            out = self._model(input_ids=ids, use_cache=True, **{self._cache: self._past})
        self._past = out[self._cache]
        logits: Logits = out.logits[0, -n:].float().cpu().numpy()
        return logits


def installed_model() -> str | None:
    """The model that is served by default; None where it, or what reads it, is not installed."""
    model = NAMED_MODELS[0]
    return model.name if all(map(find_spec, ("torch", "transformers", "gguf"))) and model.find() else None


def usual_format(name: str) -> str | None:
    """The format of tool calls that models of this name have."""
    known = {"qwen": "qwen_3", "smollm": "qwen_3", "llama": "llama", "exaone": "exaone", "minimax": "minimax"}
    known |= {"gpt_oss": "harmony", "kimi": "kimi"}
    return next((form for begin, form in known.items() if name.lower().startswith(begin)), None)


def conversation(messages: Messages) -> str:
    """The messages one after the other, for a model without a chat template."""
    lines = []
    for message in messages:
        calls = "".join(json.dumps(call["function"]) for call in message.get("tool_calls") or ())
        lines.append(f"{message['role']}: {message['content']}{calls}")
    return "\n".join(lines)


def _with_tools(messages: list[dict[str, Any]], tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages for a template that has no place for tools: the system's message lists them."""
    listed = "\n".join(["You may call these tools:", *map(json.dumps, tools)])
    if messages and messages[0]["role"] == "system":
        first, *messages = messages
        listed = f"{first['content']}\n\n{listed}"
    return [{"role": "system", "content": listed}, *messages]


def _as_templates_read(message: dict[str, Any]) -> dict[str, Any]:
    """Chat templates take the arguments of calls as dictionaries."""
    if not message.get("tool_calls"):
        return message
    functions = [call["function"] for call in message["tool_calls"]]
    calls = [{"type": "function", "function": {**f, "arguments": json.loads(f["arguments"])}} for f in functions]
    return {**message, "tool_calls": calls}
