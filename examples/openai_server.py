"""A server that speaks OpenAI's protocol, with a random model or one of Transformers; what it writes goes through psc.

    python examples/openai_server.py [--port P] [--tokenizer SPEC | --model FOLDER] [--tool-format NAME]

    curl -s localhost:8000/v1/completions -d '{"prompt": "When?", "regex": "20[0-9]{2}-[01][0-9]"}'
    curl -s localhost:8000/v1/chat/completions -d '{"messages": [{"role": "user", "content": "Hi"}],
        "response_format": {"type": "json_object"}}'

Of the protocol it has `/v1/models`, `/v1/completions` and `/v1/chat/completions`, streamed or not, with tools; `/metrics` counts.
docs/serving.md lists what requests may have; what the server cannot enforce is refused by name. The package `openai_api` beside
this file is the server.
"""

import argparse
import sys

from openai_api.application import application
from openai_api.models import LanguageModel, RandomLanguageModel, TransformersLanguageModel
from openai_api.tasks import Engine
from openai_api.tool_calls import READABLE

__all__ = ["Engine", "RandomLanguageModel", "TransformersLanguageModel", "application"]


def main() -> int:
    """The command."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", type=int, default=8000)
    options.add_argument("--tokenizer", default="qwen3", metavar="SPEC", help="of the random model")
    options.add_argument("--model", metavar="FOLDER", help="a model of Transformers, in the place of the random one")
    options.add_argument("--tool-format", choices=READABLE, help="how the model writes calls of tools; by default by its name")
    args = options.parse_args()
    try:
        import uvicorn
    except ImportError:
        print("openai_server: serving needs uvicorn: pip install uvicorn", file=sys.stderr)
        return 1
    model: LanguageModel = (
        TransformersLanguageModel(args.model, args.tool_format)
        if args.model
        else RandomLanguageModel(args.tokenizer, args.tool_format)
    )
    uvicorn.run(application(Engine(model)), host=args.host, port=args.port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
