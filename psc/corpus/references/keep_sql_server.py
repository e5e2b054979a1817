"""Runs an SQL server in a new folder for as long as its own standard input is open, and leaves nothing behind.

``keep_sql_server.py PROGRAM OPTION…`` writes the folder's name, and another line if the server ends by itself; the server's socket
is ``socket`` in the folder, its messages are in ``log``. The process that started it holds the other end of standard input, so the
server ends with that process even if it is killed.
"""

import os
import selectors
import subprocess
import sys
import tempfile
from pathlib import Path


def main(program: str, options: list[str]) -> None:
    """Starts the server, then waits until it or the input ends."""
    with tempfile.TemporaryDirectory(prefix="psc-") as name:
        folder = Path(name)
        data = folder / "data"
        data.mkdir()
        print(folder, flush=True)
        shared = [f"--datadir={data}", f"--secure-file-priv={folder}", *(["--user=root"] if os.geteuid() == 0 else [])]
        with open(folder / "log", "wb") as log:

            def run(arguments: list[str]) -> int | None:
                with subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log) as server:
                    return _until_input_ends(server)

            # MySQL needs tables of its own; MariaDB does without, as long as nobody has an account.
            ended = run(["--no-defaults", "--initialize-insecure", *shared]) if "--mysqlx=OFF" in options else 0
            if ended == 0:
                ended = run([*options, *shared, f"--socket={folder}/socket", f"--pid-file={folder}/pid"])
        if ended is not None:
            print("ended", flush=True)
            sys.stdin.read()


def _until_input_ends(server: subprocess.Popen[bytes]) -> int | None:
    """The exit code of the server, or None if the input ended first."""
    with selectors.DefaultSelector() as ready:
        ready.register(sys.stdin, selectors.EVENT_READ)
        while server.poll() is None:
            if ready.select(0.2):  # nothing is ever written there: it has ended
                server.kill()
                return None
    return server.returncode


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
