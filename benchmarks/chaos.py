"""Break a batch on Ray in every way that a fleet breaks, and see that it ends as if nothing had happened.

    python benchmarks/chaos.py --tokenizer SPEC... [--grammar G...] [--disk auto|small|patched] [--json FILE]

First a calm run in one process. Then the same jobs into a new store on a Ray cluster of several nodes on this machine
(`ray.cluster_utils`), while

* the disk is full: a small file system is filled up, or, where none can be mounted, flushing a file fails in the driver;
* a worker is killed with SIGKILL in the middle of a task;
* the driver is killed with SIGKILL after some artifacts, and started again;
* a node is added, and removed as soon as it has a task.

Nothing waits for a fixed time: each blow falls when the driver's log says that it will hit, and is over when the log says that it
did. At the end every artifact of the calm run must be in the store, byte for byte the same, and `Store.verify` must find nothing.
The exit code says so.

The cost: two compilations of each job, and half a minute for Ray. The jobs should take a second or more each.
"""

import argparse
import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

NODES = 2
PATIENCE_S = 120.0
_BEGAN = re.compile(r"psc: (\S+): [^,]*, \S+:(\d+)$", re.MULTILINE)
_ENDED = re.compile(r"psc: \[\d+/\d+\] (\S+): (.*)$", re.MULTILINE)
_LOST = re.compile(r"psc: (\S+): .*\blost\b.*$", re.MULTILINE)
_FULL = re.compile(r"psc: (\S+): .*No space left on device.*$", re.MULTILINE)


class Driver:
    """A running ``psc batch``, and what it has said so far."""

    def __init__(self, jobs: Path, store: Path, address: str, log: Path, full: Path) -> None:
        self.log = log
        arguments = ["batch", jobs, "--store", store, "--ray", address, "--report", log.with_suffix(".json")]
        with log.open("wb") as out:
            command = [sys.executable, __file__, "--driver", str(full), *map(str, arguments)]
            self.process = subprocess.Popen(command, stdout=out, stderr=out)

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def ended(self) -> dict[str, str]:
        return dict(_ENDED.findall(self.text()))

    def running(self) -> dict[str, int]:
        """Per job that a worker has taken up and that is not over, the worker's process."""
        text = self.text()
        over = {*dict(_ENDED.findall(text))}
        found = {}
        for match in re.finditer(f"{_BEGAN.pattern}|{_LOST.pattern}", text, re.MULTILINE):
            if match[1]:
                found[match[1]] = int(match[2])
            else:
                found.pop(match[3], None)
        return {job: process for job, process in found.items() if job not in over}

    def wait_for(self, what: str, found: Callable[[], Any]) -> Any:
        """What `found` returns, as soon as that is something; the driver must be alive until then."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            value = found()
            if value:
                return value
            if self.process.poll() is not None:
                raise RuntimeError(f"the driver ended before {what}; it said:\n{self.text()}")
            time.sleep(0.01)
        raise RuntimeError(f"waited {PATIENCE_S:.0f} s for {what}; the driver says:\n{self.text()}")

    def finish(self) -> None:
        """Waits until it has ended well."""
        try:
            status = self.process.wait(5 * PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RuntimeError(f"the driver does not end; it says:\n{self.text()}") from None
        if status != 0:
            raise RuntimeError(f"the driver ended with {status}; it said:\n{self.text()}")

    def kill(self) -> None:
        """With SIGKILL."""
        self.process.kill()
        self.process.wait()


def hit_worker(driver: Driver, is_it: Callable[[int], bool] = lambda process: True) -> tuple[str, int]:
    """Stops a worker in the middle of a task, by SIGSTOP, and returns the job and the process: it cannot end meanwhile."""

    def stopped() -> tuple[str, int] | None:
        for job, process in driver.running().items():
            with contextlib.suppress(ProcessLookupError):
                if is_it(process):
                    os.kill(process, signal.SIGSTOP)
                    if driver.running().get(job) == process:
                        return job, process
                    os.kill(process, signal.SIGCONT)
        return None

    found: tuple[str, int] = driver.wait_for("a task to hit", stopped)
    return found


def lost(driver: Driver, before: int) -> Callable[[], bool]:
    """Whether the driver has noticed once more that a task was lost, perhaps one of which it had not told yet."""
    return lambda: n_lost(driver) > before


def n_lost(driver: Driver) -> int:
    """How often the driver has noticed that a task was lost."""
    return len(_LOST.findall(driver.text()))


def lose_worker(driver: Driver) -> str:
    """Kills a worker in the middle of a task, and waits until the driver has noticed."""
    job, process = hit_worker(driver)
    before = n_lost(driver)
    os.kill(process, signal.SIGKILL)
    driver.wait_for("the driver to notice a lost worker", lost(driver, before))
    return f"process {process} at {job}; it was compiled again"


def lose_node(driver: Driver, cluster: Any) -> str:
    """Adds a node, and removes it in the middle of its first task. The other tasks wait meanwhile, so there is one for the node."""
    held: set[int] = set()

    def hold() -> bool:
        for worker in {*driver.running().values()} - held:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGSTOP)
                held.add(worker)
        return len(held.intersection(driver.running().values())) == NODES

    try:
        driver.wait_for("a task on each node", hold)
        node = cluster.add_node(num_cpus=1)
        raylets = {info.process.pid for info in node.all_processes["raylet"]}
        job, process = hit_worker(driver, lambda process: parent(process) in raylets)
        before = n_lost(driver)
        cluster.remove_node(node, allow_graceful=False)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)  # it was stopped, so it could not see that its node is gone
        driver.wait_for("the driver to notice a lost node", lost(driver, before))
    finally:
        for worker in held:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGCONT)
    return f"the node of process {process} at {job}; it was compiled again elsewhere"


def parent(process: int) -> int:
    """The process that started one."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


class Disk:
    """Where the store lies, which can be filled up.

    Args:
        folder: a new one, to use.
        kind: "small", a file system of its own; "patched", flushing files fails in the driver; "auto", the first that works.
        size: of the file system, in bytes.
    """

    def __init__(self, folder: Path, kind: str, size: int) -> None:
        self.folder = folder
        self.flag = folder.with_name("disk-is-full")
        self._filler = folder / "filler"
        folder.mkdir()
        self.mounted = kind != "patched" and mount(folder, size)
        if kind == "small" and not self.mounted:
            raise SystemExit("no small file system can be mounted here: that needs root; try --disk patched")
        self.kind = "a file system of its own" if self.mounted else "patched in the driver"

    def fill(self) -> None:
        if not self.mounted:
            self.flag.touch()
            return
        with self._filler.open("wb", buffering=0) as f:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while f.write(bytes(size)):
                        pass
                except OSError as e:
                    if e.errno != errno.ENOSPC:
                        raise

    def free(self) -> None:
        (self._filler if self.mounted else self.flag).unlink()

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", str(self.folder)], check=False)


def mount(folder: Path, size: int) -> bool:
    """Whether a file system of that size could be mounted there."""
    if shutil.which("mount") is None:
        return False
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def run_driver(full: str, arguments: list[str]) -> None:
    """``psc`` with these arguments, in this process; while there is a file called `full`, nothing can be flushed to disk."""
    flush = os.fsync

    def fsync(fd: Any) -> None:
        if os.path.exists(full):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        flush(fd)

    os.fsync = fsync
    from psc.cli import main

    main(arguments, prog_name="psc")


@contextlib.contextmanager
def ray_cluster(folder: Path) -> Iterator[Any]:
    """NODES nodes of one CPU each, in processes of their own."""
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    # Until a lost node has missed some checks, Ray still sends tasks there: they waited 14 s with the checks that are usual.
    os.environ.setdefault("RAY_health_check_period_ms", "500")
    os.environ.setdefault("RAY_health_check_failure_threshold", "3")
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        cluster.add_node(num_cpus=1, include_dashboard=False, temp_dir=str(folder))
        for _ in range(NODES - 1):
            cluster.add_node(num_cpus=1)
        yield cluster
    finally:
        cluster.shutdown()


def chaos(jobs: Path, n_jobs: int, work: Path, disk: Disk, blows: list[list[str]]) -> float:
    """The run in which everything breaks; what was done goes into `blows`. Returns its seconds, without Ray's start."""
    store = disk.folder / "store"
    # Ray's sockets have long names below its folder, and may have 107 characters.
    ray_folder = Path(tempfile.mkdtemp(prefix="psc-", dir="/tmp"))
    drivers: list[Driver] = []

    def driver() -> Driver:
        drivers.append(Driver(jobs, store, cluster.address, work / f"driver-{len(drivers) + 1}.log", disk.flag))
        return drivers[-1]

    def blow(what: str, strike: Callable[[], str]) -> None:
        began = time.monotonic()
        result = strike()
        blows.append([what, f"{began - start:.1f}", f"{time.monotonic() - began:.1f}", result])

    def full_disk() -> str:
        disk.fill()
        found = first.wait_for("a write to a full disk", lambda: _FULL.findall(first.text()))
        disk.free()
        first.wait_for("an artifact that was written after all", lambda: found[0] in first.ended())
        return f"{found[0]} could not be written; it was, once there was room"

    def kill_driver() -> str:
        first.wait_for("some artifacts", lambda: len(first.ended()) >= 2)
        first.wait_for("a task that is under way", lambda: first.running())
        running = first.running()
        first.kill()
        return f"after {len(first.ended())} of {n_jobs} artifacts, {len(running)} tasks under way"

    def start_again() -> str:
        second.wait_for("the driver to go on", lambda: "jobs" in second.text())
        said = re.search(r"psc: (\d+ jobs.*)", second.text())
        return said[1] if said else ""

    try:
        with ray_cluster(ray_folder) as cluster:
            start = time.monotonic()
            first = driver()
            blow("disk full", full_disk)
            blow("worker killed", lambda: lose_worker(first))
            blow("driver killed", kill_driver)
            second = driver()
            blow("driver started again", start_again)
            blow("node added and removed", lambda: lose_node(second, cluster))
            second.finish()
            return time.monotonic() - start
    finally:
        for started in drivers:
            if started.process.poll() is None:
                started.kill()
        shutil.rmtree(ray_folder, ignore_errors=True)


def compare(calm: Path, rough: Path) -> tuple[list[str], int]:
    """What is wrong with a store that should hold what another one does, and how many artifacts that has."""
    from psc.artifacts.store import Store

    expected, found = Store(calm), Store(rough)
    wrong = [f"{problem.path}: {problem.what}" for problem in found.verify()]
    references = expected.references()
    for reference in references:
        name = f"{reference.grammar}/{reference.tokenizer}"
        there = found.find_named(reference.grammar, reference.tokenizer)
        if found.find(reference.input_key) != reference:
            wrong.append(f"{name}: missing under its input key")
        if there is None:
            wrong.append(f"{name}: missing under its name")
        elif found.read(there) != expected.read(reference):
            wrong.append(f"{name}: not the bytes of the calm run")
    extra = {*found.references()} - {*references}
    return wrong + [f"{reference.name_path}: not in the calm run" for reference in sorted(extra)], len(references)


def digest_of(store: Path) -> str:
    """One digest of all artifacts of a store, by name."""
    from psc.artifacts.store import Store

    lines = sorted(f"{r.grammar}/{r.tokenizer} {r.digest}\n" for r in Store(store).references())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def main() -> None:
    """Parse the command line, run calmly, run roughly, compare, print."""
    if sys.argv[1:2] == ["--driver"]:
        run_driver(sys.argv[2], sys.argv[3:])
        return
    options = argparse.ArgumentParser(description="Break a batch on Ray, and compare with a calm run.")
    options.add_argument("--grammar", nargs="+", metavar="G", default=["java", "go", "sql"], help="bundled names or files")
    options.add_argument("--tokenizer", nargs="+", required=True, metavar="SPEC", help="as psc.load_tokenizer takes it")
    options.add_argument("--disk", choices=["auto", "small", "patched"], default="auto", help="how the disk is made full")
    options.add_argument("--disk-bytes", type=int, default=256 << 20, metavar="N", help="size of the small file system")
    options.add_argument("--keep", type=Path, metavar="DIR", help="work in this folder, and leave it there")
    options.add_argument("--json", metavar="FILE", help="write everything as JSON too (- for standard output)")
    args = options.parse_args()
    from psc.bench.measure import in_words, machine, report, table

    about = machine()
    with tempfile.TemporaryDirectory(prefix="psc-chaos-") as temporary:
        work = args.keep or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        jobs = work / "jobs.toml"
        lists = {"grammars": absolute(args.grammar), "tokenizers": absolute(args.tokenizer)}
        jobs.write_text("[[jobs]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in lists.items()))
        began = time.monotonic()
        calm_command = [sys.executable, "-m", "psc", "batch", str(jobs), "--store", str(work / "calm")]
        calm = subprocess.run(calm_command, capture_output=True, text=True, check=False)
        if calm.returncode != 0:
            sys.exit(f"the calm run failed:\n{calm.stdout}{calm.stderr}")
        calm_seconds = time.monotonic() - began
        n_jobs = len(_ENDED.findall(calm.stderr))
        disk = Disk(work / "disk", args.disk, args.disk_bytes)
        blows: list[list[str]] = []
        try:
            rough_seconds = chaos(jobs, n_jobs, work, disk, blows)
            wrong, n_artifacts = compare(work / "calm", disk.folder / "store")
            digests = [digest_of(work / "calm"), digest_of(disk.folder / "store")]
        finally:
            disk.close()
    document = {
        "benchmark": "chaos",
        **about,
        "jobs": n_jobs,
        "disk": disk.kind,
        "calm_seconds": calm_seconds,
        "rough_seconds": rough_seconds,
        "blows": [dict(zip(("what", "at_seconds", "took_seconds", "hit"), blow, strict=True)) for blow in blows],
        "artifacts": n_artifacts,
        "digests": digests,
        "wrong": wrong,
    }
    if args.json != "-":
        print(in_words(about) + "\n")
        print(table(["blow", "at s", "took s", "what it hit"], blows))
        print(f"\n{n_jobs} jobs: calm {calm_seconds:.1f} s in one process; rough {rough_seconds:.1f} s on Ray; disk: {disk.kind}")
        same = "all present, verified, and the same bytes" if not wrong else f"{len(wrong)} problems"
        print(f"{n_artifacts} artifacts: {same}")
        print("".join(f"  {line}\n" for line in wrong), end="")
    report(document, args.json)
    sys.exit(1 if wrong else 0)


def absolute(specs: list[str]) -> list[str]:
    """Files by their whole path, since the jobs file lies elsewhere; names as they are."""
    return [str(Path(spec).absolute()) if Path(spec).exists() else spec for spec in specs]


if __name__ == "__main__":
    main()
