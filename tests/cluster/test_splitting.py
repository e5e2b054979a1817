"""Jobs in pieces: cut when that helps or is asked for, and the same artifacts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import batches
import pytest

from psc.artifacts.store import Store
from psc.cluster.costs.estimates import Estimate
from psc.cluster.run.batch import run_batch
from psc.cluster.run.in_process import InProcess
from psc.cluster.run.plan import Plan
from psc.cluster.run.splitting import LEAST_SECONDS, split_long_jobs
from psc.compiler.frontends.tables import CfgTables


def with_seconds(plan: Plan, *seconds: float) -> Plan:
    """The plan, as if its jobs were expected to take so long."""
    plan.todo = [
        replace(p, estimate=Estimate(s, 1 << 20, "measured"), tasks=(replace(p.tasks[0], seconds=s),))
        for p, s in zip(plan.todo, seconds, strict=False)
    ]
    return plan


@pytest.mark.parametrize(
    ("seconds", "cpus", "n_tasks"),
    [
        ([20.0], 1, [1]),
        ([20.0], 2, [4]),
        ([20.0], 8, [10]),
        ([20.0], 100, [18]),
        ([LEAST_SECONDS / 2], 8, [1]),
        ([20.0, 20.0], 2, [1, 1]),
        ([20.0, 2.0, 2.0, 2.0], 2, [4, 1, 1, 1]),
        ([5.0, 5.0, 5.0, 5.0, 5.0], 2, [1, 1, 1, 1, 1]),
    ],
)
def test_a_job_is_cut_when_cpus_would_wait_for_it(seconds: list[float], cpus: int, n_tasks: list[int], tmp_path: Path) -> None:
    plan = with_seconds(batches.plan_of(batches.write_folder(tmp_path), Store(tmp_path / "store")), *seconds)
    split_long_jobs(plan, cpus)
    assert [len(p.tasks) for p in plan.todo] == n_tasks
    for planned in plan.todo:
        assert sum(t.seconds for t in planned.tasks) == pytest.approx(planned.estimate.seconds, rel=0.2)
        for i, task in enumerate(planned.tasks):
            assert all(need < i for need in task.needs)


def test_pieces_make_the_same_artifacts(tmp_path: Path) -> None:
    whole, cut = Store(tmp_path / "whole"), Store(tmp_path / "cut")
    batches.run(batches.write_folder(tmp_path), whole)
    jobs = batches.JOBS.replace("[[jobs]]\n", "[[jobs]]\npieces = 3\n")
    plan = batches.plan_of(batches.write_folder(tmp_path, jobs), cut)
    split_long_jobs(plan, 1)
    assert all(len(p.tasks) == 5 for p in plan.todo)
    assert all(thing.are_made for name, thing in plan.shared.items() if name.startswith("grammar"))
    executor = InProcess()
    report = run_batch(plan, cut, executor)
    executor.close()
    assert report.ok
    assert cut.references() == whole.references() and not cut.verify()
    assert {t.what for t in report.tasks} == {"sequences", *(f"classifier {i} of 3" for i in (1, 2, 3)), "assembly"}


def test_one_piece_is_asked_for(tmp_path: Path) -> None:
    jobs = f"[defaults]\npieces = 1\n{batches.JOBS}"
    plan = with_seconds(batches.plan_of(batches.write_folder(tmp_path, jobs), Store(tmp_path / "store")), 100.0)
    split_long_jobs(plan, 8)
    assert [len(p.tasks) for p in plan.todo] == [1]


def test_a_grammar_without_tables_fails_by_itself(tmp_path: Path) -> None:
    """With one tokenizer its own task says so; with several, planning does."""
    jobs = '[[jobs]]\npieces = 2\ngrammars = ["grammars/*"]\ntokenizers = ["models/bytes.json"]\n'
    path = batches.write_folder(tmp_path, jobs, {"grammars/clash.lark": batches.CLASHING})
    store = Store(tmp_path / "store")
    plan = batches.plan_of(path, store)
    split_long_jobs(plan, 2)
    assert {p.outcome.grammar: len(p.tasks) for p in plan.todo} == {"clash": 1, "assignments": 4, "list": 4, "sums": 4}
    assert [thing.are_made for thing in plan.shared.values() if isinstance(thing, CfgTables)].count(False) == 1
    path.write_text(jobs.replace('["models/bytes.json"]', '["models/*.json"]'))
    planned = batches.plan_of(path, store)
    failed = [o for o in planned.outcomes if o.status == "failed"]
    assert [o.name for o in failed] == ["clash/bytes", "clash/pieces"]
    assert all("clash" in (o.error or "") for o in failed)


def test_rules_that_count_tokens_fail_by_themselves(tmp_path: Path) -> None:
    """An artifact cannot say how many tokens a text has: without the counts it would allow too much."""
    path = batches.write_folder(tmp_path, more={"grammars/counted.ebnf": 'root ::= "<" few ">"\nfew[max_tokens=3] ::= [a-z]*\n'})
    failed = [o for o in batches.plan_of(path, Store(tmp_path / "store")).outcomes if o.status == "failed"]
    assert {o.grammar for o in failed} == {"counted"}
    assert all("tokens are counted by grammars that GrammarCompiler builds just in time" in (o.error or "") for o in failed)
