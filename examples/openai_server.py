"""A server for development that speaks OpenAI's protocol; its texts go through psc.

    python examples/openai_server.py [--port P] [--model NAME | --tokenizer SPEC] [--tool-format NAME]

    curl -s localhost:8000/v1/completions --json '{"prompt": "When?", "regex": "20[0-9]{2}-[01][0-9]"}'
    curl -s localhost:8000/v1/chat/completions --json '{"messages": [{"role": "user", "content": "Hi"}],
        "response_format": {"type": "json_object"}}'

Of the protocol it has `/v1/models`, `/v1/completions`, `/v1/chat/completions` and `/v1/responses`, streamed or not, with
tools; `/metrics` counts.
docs/serving/openai-server.md lists what requests may have. The server refuses by name what it cannot enforce. The package
`openai_api` beside this file is the server.
"""

import argparse
import os
import sys

from openai_api.application import application
from openai_api.models import MODEL_COMMANDS, LanguageModel, RandomLanguageModel, TransformersLanguageModel, installed_model
from openai_api.tasks import Engine
from openai_api.tool_calls import READABLE

import psc
from psc.generation.models import NAMED_MODELS

SHUTDOWN_SECONDS = 3
"""What answers have after SIGTERM, until they are called off."""

__all__ = ["Engine", "RandomLanguageModel", "TransformersLanguageModel", "application"]


def main() -> int:
    """The command."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", type=int, default=8000)
    options.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a name of this server with a dot; * is any"
    )
    either = options.add_mutually_exclusive_group()
    either.add_argument(
        "--model",
        metavar="NAME",
        help=f"a name ({', '.join(m.name for m in NAMED_MODELS)}), a folder, a .gguf file, or a Hugging Face id in the local "
        f"cache; by default {NAMED_MODELS[0].name} where it and the extra `generate` are installed, else random weights",
    )
    either.add_argument("--tokenizer", metavar="SPEC", help="random weights over this vocabulary; qwen3 where there is no model")
    options.add_argument("--tool-format", choices=READABLE, help="how the model writes calls of tools; by default by its name")
    args = options.parse_args()
    try:
        import uvicorn
    except ImportError:
        _say("serving needs uvicorn: pip install uvicorn")
        return 1
    if args.model is None and args.tokenizer is None:
        args.model = installed_model()
    os.environ.setdefault("TQDM_DISABLE", "1")  # reading a .gguf file would show bars
    try:
        model: LanguageModel
        if args.model is not None:
            model = TransformersLanguageModel(args.model, args.tool_format, lambda step: _say(f"{args.model}: {step}"))
        else:
            model = RandomLanguageModel(args.tokenizer or "qwen3", args.tool_format)
            if args.tokenizer is None:
                _say(f"random weights, which know no language; for a model: {MODEL_COMMANDS}")
        everywhere = ["*"] if args.host in ("0.0.0.0", "::", "") else [args.host]
        app = application(Engine(model), [*everywhere, *args.allow_host])
    except (OSError, ValueError, ImportError, psc.PscError) as e:
        what = f"--tokenizer {args.tokenizer}" if args.model is None else f"--model {args.model}"
        _say(f"{what}: {' '.join(str(e).split())[:600]}")
        return 1
    uvicorn.run(app, host=args.host, port=args.port, timeout_graceful_shutdown=SHUTDOWN_SECONDS)
    return 0


def _say(line: str) -> None:
    print(f"openai_server: {line}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
