"""Looks in a process that is ended when one takes too long, or too much memory; the next one begins another."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from psc.playground.looking import BYTES, Choices
from psc.playground.worker import Answer, Worker

FINE: Answer = {"grammar": {"language": "regex", "text": "a+"}, "tokenizer": BYTES, "text": "a"}
LONG = "abcdefgh" * 2000
SLOW: Answer = {**FINE, "grammar": {"language": "ebnf", "text": f'root ::= "{LONG}"'}}
"""Takes minutes: an explanation is not made for such a terminal."""
pytestmark = pytest.mark.skipif("PSC_SANITIZED" in os.environ, reason="the sanitizer's library is not loaded into such processes")


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker(Choices(), time_limit_s=60, memory_limit_bytes=2 << 30)
    yield made
    made.close()


def test_answers_one_after_the_other(worker: Worker) -> None:
    for _ in range(2):
        assert worker.ask(FINE)["n_read"] == 1
    first = worker._process
    assert worker.ask({"text": 1})["error"]["kind"] == "BadRequestError"
    assert worker.ask(FINE)["n_read"] == 1
    assert worker._process is first


def test_a_request_that_is_nested_too_deeply(worker: Worker) -> None:
    assert worker.ask(FINE)["n_read"] == 1
    first = worker._process
    nested: list[object] = []
    for _ in range(10_000):
        nested = [nested]
    assert worker.ask({**FINE, "more": nested})["error"]["kind"] == "malformed request"
    assert worker.ask(FINE)["n_read"] == 1
    assert worker._process is first


def test_a_process_that_cannot_begin(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as m:
        m.setattr("multiprocessing.process.BaseProcess.start", _too_many)
        for _ in range(2):
            assert worker.ask(FINE)["error"]["kind"] == "worker ended"
    assert worker.ask(FINE)["n_read"] == 1


def _too_many(process: object) -> None:
    raise BlockingIOError("there are too many processes")


def test_a_look_that_takes_too_long(worker: Worker) -> None:
    assert worker.ask(FINE)["n_read"] == 1
    worker._time_limit_s = 0.2
    assert worker.ask(SLOW)["error"]["kind"] == "time limit"
    assert worker._process is None
    worker._time_limit_s = 60
    assert worker.ask(FINE)["n_read"] == 1


def test_a_process_that_ends(worker: Worker) -> None:
    assert worker.ask(FINE)["n_read"] == 1
    assert worker._process is not None
    worker._process.kill()
    worker._process.join()
    assert worker.ask(FINE)["n_read"] == 1  # another one


def test_closed_in_the_middle_of_a_look(worker: Worker) -> None:
    assert worker.ask(FINE)["n_read"] == 1
    answers: list[Answer] = []
    asking = threading.Thread(target=lambda: answers.append(worker.ask(SLOW)))
    asking.start()
    time.sleep(0.1)
    worker.close()
    asking.join(30)
    assert not asking.is_alive()
    assert answers[0]["error"]["kind"] == "worker ended"


def test_a_limit_on_memory() -> None:
    worker = Worker(Choices(), time_limit_s=60, memory_limit_bytes=16 << 20)
    words = "|".join(f"{i:07d}{i * 7919 % 9999991:07d}" for i in range(16_000))
    try:
        assert "memory" in worker.ask({**FINE, "grammar": {"language": "regex", "text": words}})["error"]["message"]
        assert worker.ask(FINE)["n_read"] == 1
    finally:
        worker.close()
