"""Rules, dashboard and unit of examples/operations: they know the counters that a service has, and Prometheus takes them."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from vocabularies import byte_tokenizer

from psc.serving import GrammarService, ServiceOptions
from psc.serving.counters import HELP

FOLDER = Path(__file__).resolve().parents[2] / "examples/operations"
ALERTS, DASHBOARD = FOLDER / "psc-alerts.yml", FOLDER / "psc-dashboard.json"
NAMES = {f"psc_{name}_total" for name in HELP} | {"psc_near_misses_total", "psc_cache_bytes"}


def names_in(text: str) -> set[str]:
    return set(re.findall(r"psc_\w+", text))


def test_they_name_counters_that_there_are() -> None:
    assert len(names_in(ALERTS.read_text())) > 5 and names_in(ALERTS.read_text()) <= NAMES
    panels = json.loads(DASHBOARD.read_text())["panels"]
    asked = {name for panel in panels for target in panel["targets"] for name in names_in(target["expr"])}
    assert asked <= NAMES and len(asked) > 10
    places = [tuple(panel["gridPos"].values()) for panel in panels]
    assert len(set(places)) == len(panels)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="Prometheus is not installed")
def test_the_rules_do_what_their_tests_say() -> None:
    for arguments in (["check", "rules", ALERTS.name], ["test", "rules", "psc-alerts.test.yml"]):
        done = subprocess.run(["promtool", *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="Prometheus is not installed")
def test_a_prometheus_has_the_counters(tmp_path: Path) -> None:
    service = GrammarService(byte_tokenizer(), options=ServiceOptions.of({"metrics": "0"}, {}))
    assert service.metrics is not None
    for kind, text in (("regex", "a+"), ("regex", "a+"), ("json", '{"type": "integer"}')):
        service.compile(kind, text)  # type: ignore[arg-type]
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (tmp_path / "prometheus.yml").write_text(
        f"global: {{scrape_interval: 1s}}\nrule_files: [{json.dumps(str(ALERTS))}]\nscrape_configs:\n"
        f"  - {{job_name: psc, static_configs: [{{targets: ['127.0.0.1:{service.metrics.port}']}}]}}\n"
    )
    flags = [f"--storage.tsdb.path={tmp_path}/data", f"--config.file={tmp_path}/prometheus.yml", f"--web.listen-address={address}"]
    running = subprocess.Popen(["prometheus", *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        query = f"http://{address}/api/v1/query?" + urlencode({"query": '{__name__=~"psc_.*"}'})
        found: dict[tuple[str, str], str] = {}
        deadline = time.monotonic() + 60
        while not found and time.monotonic() < deadline:
            time.sleep(0.5)
            try:
                answer = json.loads(urlopen(query, timeout=5).read())
            except OSError:
                continue
            found = {
                (each["metric"]["__name__"], each["metric"].get("kind", "")): each["value"][1] for each in answer["data"]["result"]
            }
        assert found["psc_compilations_total", "regex"] == found["psc_compilations_total", "json"] == "1"
        assert found["psc_cache_hits_total", "regex"] == "1" and found["psc_failures_total", ""] == "0"
    finally:
        running.terminate()
        running.wait(30)
        service.metrics.close()
