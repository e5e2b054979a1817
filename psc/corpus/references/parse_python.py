"""Parses texts of Python from standard input with the Python that runs this file, 3.8 or later; see conversation.py for the format.

It imports nothing of psc, which that Python need not have.
"""

import ast
import sys
import warnings


def judge(text: str) -> str:
    try:
        ast.parse(text)
    except SyntaxError as e:
        return f"{e.lineno or 0}:{e.offset or 0}:{e.msg}"
    except (ValueError, RecursionError, MemoryError) as e:
        return f"0:0:{str(e) or type(e).__name__}"
    return ""


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    while size := sys.stdin.buffer.read(4):
        answer = judge(sys.stdin.buffer.read(int.from_bytes(size, "big")).decode("utf-8", "surrogatepass"))
        sys.stdout.buffer.write(" ".join(answer.splitlines()).encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()
