"""Folders with small grammars, small tokenizer files and a jobs file, for tests of batches."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from vocabularies import PIECES

from psc.artifacts.store import Store
from psc.cluster.jobs.expansion import Job, find_jobs
from psc.cluster.jobs.jobs_file import read_jobs_file
from psc.cluster.run.batch import run_batch
from psc.cluster.run.executor import Executor
from psc.cluster.run.in_process import InProcess
from psc.cluster.run.outcomes import JobOutcome, RunReport
from psc.cluster.run.plan import Plan, plan
from psc.vocabulary.spelling import byte_level_alphabet

ASSIGNMENTS = 'start: (NAME "=" value ";")+\nvalue: NAME | NUMBER\nNAME: /[a-z]+/\nNUMBER: /[0-9]+/\n%ignore " "\n'
SUMS = 'root ::= term ("+" term)*\nterm ::= [0-9]+ | "(" root ")"\n'
LIST = 'root ::= "[" (item ("," item)*)? "]"\nitem ::= "true" | "false" | root\n'
CLASHING = 'start: a | b\na: "x"\nb: "x"\n'
"""Two reductions clash: it parses, and does not compile."""

JOBS = """\
[[jobs]]
grammars = ["grammars/*.lark", "grammars/*.ebnf"]
tokenizers = ["models/*.json"]
"""


def write_tokenizer(path: Path, pieces: list[bytes]) -> None:
    """A tokenizer.json in byte-level spelling: the pieces, then <|endoftext|>, which stops."""
    spelling = {byte: character for character, byte in byte_level_alphabet().items()}
    vocab = {"".join(spelling[b] for b in piece): i for i, piece in enumerate(dict.fromkeys(pieces))}
    stop = {"id": len(vocab), "content": "<|endoftext|>", "special": True, "normalized": False}
    layout = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": vocab, "merges": [], "byte_fallback": False}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"added_tokens": [stop], "pre_tokenizer": layout, "decoder": layout, "model": model}))


_BYTES = [bytes([b]) for b in range(256)]


def write_folder(folder: Path, jobs: str = JOBS, more: Mapping[str, str] | None = None) -> Path:
    """Three grammars, two tokenizers and a jobs file. Returns the path of the last."""
    files = {"grammars/assignments.lark": ASSIGNMENTS, "grammars/sums.ebnf": SUMS, "grammars/list.ebnf": LIST}
    for name, text in {**files, **(more or {}), "jobs.toml": jobs}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    write_tokenizer(folder / "models" / "bytes.json", _BYTES)
    write_tokenizer(folder / "models" / "pieces.json", [*_BYTES, *(p.encode() for p in PIECES if p)])
    return folder / "jobs.toml"


def jobs_of(path: Path) -> list[Job]:
    """The jobs of a jobs file."""
    return find_jobs(read_jobs_file(path))


def plan_of(path: Path, store: Store, *, force: bool = False) -> Plan:
    """What its batch has to do."""
    return plan(jobs_of(path), store, force=force)


def run(path: Path, store: Store, executor: Executor | None = None) -> RunReport:
    """Does it; in this process unless told where."""
    return run_batch(plan_of(path, store), store, executor or InProcess())


def statuses(report: RunReport) -> dict[str, str]:
    """How each job ended."""
    return {job.name: job.status for job in report.jobs}


def job(report: RunReport, name: str) -> JobOutcome:
    """One job's outcome."""
    return next(j for j in report.jobs if j.name == name)


def blobs(store: Store) -> dict[str, bytes]:
    """The artifacts in a store, by the name that each goes by."""
    return {f"{r.grammar}/{r.tokenizer}": (store.root / r.blob_path).read_bytes() for r in store.references()}


def copy_of(store: Store, folder: Path) -> Store:
    """A store with the same content, to be spoilt."""
    shutil.copytree(store.root, folder)
    return Store(folder)
