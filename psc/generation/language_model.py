"""A causal language model of Transformers, from a folder or a GGUF file.

It runs on the CPU: one text at a time, with the threads that torch takes (``OMP_NUM_THREADS``). Cost: see docs/generate.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from psc.errors import MissingExtraError, needs_extra
from psc.generation.models import ModelError, ModelFiles

with needs_extra("generate"):
    import torch
    import transformers


class LanguageModel:
    """A model that is loaded.

    Args:
        files: where it is.
        progress: called with the name of each step as it begins.

    Raises:
        MissingExtraError: a package is missing that reads its format.
        ModelError: Transformers cannot read it.
    """

    def __init__(self, files: ModelFiles, *, progress: Callable[[str], None]) -> None:
        transformers.utils.logging.set_verbosity_error()  # its remarks and bars would stand between those of the command
        transformers.utils.logging.disable_progress_bar()
        source: dict[str, Any] = {"pretrained_model_name_or_path": str(files.folder), "local_files_only": True}
        if files.is_gguf:
            source["gguf_file"] = files.path.name
        try:
            with needs_extra("generate"):
                progress("tokenizer")
                self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(**source)
                progress("weights")
                self.model: Any = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=_dtype(files)).eval()
        except MissingExtraError:
            raise
        except Exception as e:  # the library of tokenizers raises nothing more special
            reason = str(e).strip().partition("\n")[0]
            raise ModelError(f"{files.name}: Transformers cannot read this model: {reason[:200]}") from e
        self.name = files.name

    @property
    def max_length(self) -> int:
        """Tokens of prompt and text together."""
        return int(getattr(self.model.config, "max_position_embeddings", None) or 2**31)

    @property
    def can_go_back(self) -> bool:
        """Whether it can forget tokens that it has read, as drafts ask: a recurrent state cannot."""
        config = self.model.config
        recurrent = any("linear" in kind or "conv" in kind for kind in getattr(config, "layer_types", None) or ())
        return not (recurrent or getattr(self.model, "_is_stateful", False) or getattr(config, "is_encoder_decoder", False))

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, without special tokens."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def chat_prompt(self, system: str | None, user: str, opening: str = "") -> Sequence[int]:
        """The tokens of a conversation in which the model is to speak next; without a chat template, of its texts.

        Args:
            system: the system prompt.
            user: the user's.
            opening: what the model has already said.
        """
        if self.tokenizer.chat_template is None:
            return list(self.tokenizer("\n\n".join(text for text in (system, user, opening) if text))["input_ids"])
        messages = [{"role": "system", "content": system}] if system else []
        filled = self.tokenizer.apply_chat_template(
            [*messages, {"role": "user", "content": user}], add_generation_prompt=True, tokenize=False, enable_thinking=False
        )
        return list(self.tokenizer(filled + opening, add_special_tokens=False)["input_ids"])

    def generate(self, prompt: Sequence[int], *, seed: int, streamer: Any, **options: Any) -> None:
        """Calls Transformers' `generate`, whose tokens, the prompt's first, go to the streamer.

        Args:
            prompt: tokens.
            seed: of what is sampled.
            streamer: an object with `put` and `end`.
            options: of `generate`.
        """
        ids = torch.tensor([list(prompt)])
        torch.manual_seed(seed)
        self.model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), streamer=streamer, **options)


def _dtype(files: ModelFiles) -> Any:
    """A folder says what its weights are. Those of a GGUF file are for float32, in which most CPUs are faster than in bfloat16."""
    return torch.float32 if files.is_gguf or files.converted else "auto"
