"""Language models: one with random weights, which needs no download, and those of Transformers."""

import json
from collections import deque
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from random_model import RandomModel

import psc
from openai_api.sampling import Logits

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
    """A model of Transformers, from its folder. It runs where Transformers puts it, and makes each text alone."""

    def __init__(self, path: str, format_name: str | None = None) -> None:
        if not Path(path).is_dir() and (path.startswith(("/", ".", "~")) or path.count("/") != 1):  # else a name at the hub
            raise FileNotFoundError("there is no such folder")
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._torch = torch
        self._tokenizer = AutoTokenizer.from_pretrained(path)
        self._model = AutoModelForCausalLM.from_pretrained(path, dtype="auto").eval()
        ends = self._model.generation_config.eos_token_id
        self.info = psc.TokenizerInfo.from_huggingface(
            self._tokenizer, vocab_size=self._model.config.vocab_size, stop_token_ids=[ends] if isinstance(ends, int) else ends
        )
        self.name = Path(path).resolve().name
        self.format_name = format_name or usual_format(self._model.config.model_type)

    def chat_prompt(self, messages: Messages, tools: Sequence[dict[str, Any]]) -> list[int]:
        """The conversation in the model's chat template; without one, the messages one after the other."""
        if self._tokenizer.chat_template is None:
            return self.prompt(conversation(messages))
        read = [_as_templates_read(m) for m in messages]
        filled = self._tokenizer.apply_chat_template(
            read, tools=list(tools) or None, add_generation_prompt=True, tokenize=False, enable_thinking=False
        )
        ids: list[int] = self._tokenizer(filled, add_special_tokens=False)["input_ids"]
        return ids

    def prompt(self, text: str) -> list[int]:
        """The text's tokens, with those that the tokenizer puts around it."""
        ids: list[int] = self._tokenizer(text)["input_ids"]
        return ids

    def begin(self, prompt: list[int]) -> Generation:
        """A text that follows a prompt."""
        return _TransformersGeneration(self._torch, self._model, prompt or [self.info.stop_token_ids[0]])


class _TransformersGeneration:
    def __init__(self, torch: Any, model: Any, prompt: list[int]) -> None:
        self._torch, self._model, self._past = torch, model, None
        # Transformers 5.24 has renamed the argument and the field of the output.
        names = signature(model.forward).parameters
        self._cache = "cache" if "cache" in names else "past_key_values"
        self._ahead: deque[tuple[int, Logits]] = deque()  # what was read already, and the logits after it
        self.logits = self._read(prompt, 1)[0]

    def feed(self, token: int, expected: Sequence[int] = ()) -> None:
        if self._ahead and self._ahead[0][0] == token:
            self.logits = self._ahead.popleft()[1]
            return
        if self._ahead:  # another one was expected
            self._past.crop(-len(self._ahead))
            self._ahead.clear()
        more = list(expected) if self._can_forget else []
        self.logits, *logits = self._read([token, *more], 1 + len(more))
        self._ahead.extend(zip(more, logits, strict=True))

    @property
    def _can_forget(self) -> bool:
        """Whether what was read can be taken back: neither of a recurrent state nor beyond a window."""
        past = self._past
        return hasattr(past, "crop") and getattr(past, "is_croppable", True) and not any(getattr(past, "is_sliding", ()))

    def _read(self, tokens: list[int], n: int) -> Logits:
        """The logits after each of the last n of the tokens."""
        ids = self._torch.tensor([tokens], device=self._model.device)
        with self._torch.inference_mode():
            out = self._model(input_ids=ids, use_cache=True, **{self._cache: self._past})
        self._past = out[self._cache]
        logits: Logits = out.logits[0, -n:].float().cpu().numpy()
        return logits


def usual_format(name: str) -> str | None:
    """The format of tool calls that models of this name have."""
    known = {"qwen": "qwen_3", "llama": "llama", "exaone": "exaone", "minimax": "minimax", "gpt_oss": "harmony", "kimi": "kimi"}
    return next((form for begin, form in known.items() if name.lower().startswith(begin)), None)


def conversation(messages: Messages) -> str:
    """The messages one after the other, for a model without a chat template."""
    lines = []
    for message in messages:
        calls = "".join(json.dumps(call["function"]) for call in message.get("tool_calls") or ())
        lines.append(f"{message['role']}: {message['content']}{calls}")
    return "\n".join(lines)


def _as_templates_read(message: dict[str, Any]) -> dict[str, Any]:
    """Chat templates take the arguments of calls as dictionaries."""
    if not message.get("tool_calls"):
        return message
    functions = [call["function"] for call in message["tool_calls"]]
    calls = [{"type": "function", "function": {**f, "arguments": json.loads(f["arguments"])}} for f in functions]
    return {**message, "tool_calls": calls}
