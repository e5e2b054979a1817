"""A server for development that speaks OpenAI's protocol, with a random model or one of Transformers; its texts go through psc.

    python examples/openai_server.py [--port P] [--tokenizer SPEC | --model FOLDER] [--tool-format NAME]

    curl -s localhost:8000/v1/completions --json '{"prompt": "When?", "regex": "20[0-9]{2}-[01][0-9]"}'
    curl -s localhost:8000/v1/chat/completions --json '{"messages": [{"role": "user", "content": "Hi"}],
        "response_format": {"type": "json_object"}}'

Of the protocol it has `/v1/models`, `/v1/completions`, `/v1/chat/completions` and `/v1/responses`, streamed or not, with
tools; `/metrics` counts.
docs/serving.md lists what requests may have; what the server cannot enforce is refused by name. The package `openai_api` beside
this file is the server.
"""

import argparse
import sys

from openai_api.application import application
from openai_api.models import LanguageModel, RandomLanguageModel, TransformersLanguageModel
from openai_api.tasks import Engine
from openai_api.tool_calls import READABLE

import psc

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
    options.add_argument("--tokenizer", default="qwen3", metavar="SPEC", help="of the random model")
    options.add_argument("--model", metavar="FOLDER", help="a model of Transformers, in the place of the random one")
    options.add_argument("--tool-format", choices=READABLE, help="how the model writes calls of tools; by default by its name")
    args = options.parse_args()
    try:
        import uvicorn
    except ImportError:
        print("openai_server: serving needs uvicorn: pip install uvicorn", file=sys.stderr)
        return 1
    try:
        model: LanguageModel = (
            TransformersLanguageModel(args.model, args.tool_format)
            if args.model
            else RandomLanguageModel(args.tokenizer, args.tool_format)
        )
        everywhere = ["*"] if args.host in ("0.0.0.0", "::", "") else [args.host]
        app = application(Engine(model), [*everywhere, *args.allow_host])
    except (OSError, ValueError, ImportError, psc.PscError) as e:
        what = f"--model {args.model}" if args.model else f"--tokenizer {args.tokenizer}"
        print(f"openai_server: {what}: {' '.join(str(e).split())[:600]}", file=sys.stderr)
        return 1
    uvicorn.run(app, host=args.host, port=args.port, timeout_graceful_shutdown=SHUTDOWN_SECONDS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
