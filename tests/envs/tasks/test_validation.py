"""`rlfactory validate`: what is broken on purpose is found, what ships is not blamed. `benchmarks.trust` does all."""

from __future__ import annotations

import fnmatch
import html
import json
from pathlib import Path

import pytest

from benchmarks.trust import broken_tasks
from rlfactory.envs.api.errors import TaskError, UnknownName
from rlfactory.envs.client.validation import RULES, Status, chosen, read_policy
from rlfactory.envs.tasks.suites import default_registry
from rlfactory.trainer.run.validating import ValidateConfig, as_html, as_json, validate

FILE = str(Path(broken_tasks.__file__))
BROKEN = ("samegoals", "fewworlds", "takespart", "tooltells", "wrongoracle", "shortofturns", "allowsall")
HOLDING = (Status.PASSED, Status.ALLOWED)
GOOD = (broken_tasks.GOOD.name, "tiny_text2sql.total", "tiny_search.color")


async def test_what_is_broken_is_found_and_what_is_not_is_not_blamed() -> None:
    names = [f"broken.{name}" for name in BROKEN]
    findings = await validate(ValidateConfig(targets=(FILE, *names, *GOOD)), quiet=True)
    assert len(findings) == (len(BROKEN) + len(GOOD)) * len(RULES)
    failed = {(each.task, each.rule.name) for each in findings if each.status not in HOLDING}
    assert {(name, broken_tasks.BROKEN[name]) for name in names} <= failed
    assert [(task, check) for task, check in failed if task in GOOD] == []
    assert {each["check"] for each in json.loads(as_json(findings))["findings"]} == {rule.name for rule in RULES}
    page = as_html(findings)
    evidence = [each for each in findings if each.evidence]
    heads = 3
    assert page.count("<tr") == heads + len(evidence) + len(BROKEN) + len(GOOD) + len(RULES)
    assert all(html.escape(text) in page for each in evidence for text in (each.evidence, each.rule.mend))
    assert page.count("title=") == len(findings)


def test_targets_and_policies_that_are_none_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no suite or task 'phones'; close: phone"):
        chosen(["phones"])
    policy = tmp_path / "policy.yaml"
    for text in ("- 1\n", "warns: idle\n", "allowed: {idle: yes}\n", "chance: {mine: lots}\n"):
        policy.write_text(text)
        with pytest.raises(TaskError, match=r"policy\.yaml is no policy"):
            read_policy(policy)
    for text in ("warns: [idel]\n", "allowed: {idel: {mine.*: why}}\n"):
        policy.write_text(text)
        with pytest.raises(UnknownName, match=r"no check of .*policy\.yaml, 'idel'; close: idle"):
            read_policy(policy)
    policy.write_text("warn: [idle]\n")
    with pytest.raises(UnknownName, match="'warn'; close: warns"):
        read_policy(policy)


def test_the_policy_that_ships_names_checks_and_tasks_that_there_are() -> None:
    policy = read_policy()
    names = {rule.name for rule in RULES}
    assert set(policy.allowed) <= names and policy.warns <= names
    patterns = {task for tasks in policy.allowed.values() for task in tasks} | set(policy.chance)
    shipped = [task.name for task in default_registry()]
    assert [each for each in patterns if not fnmatch.filter(shipped, each)] == []
