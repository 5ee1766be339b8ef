"""Validation of tasks over the public session API: the templates asked for, and all checks of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rlfactory.envs.api.errors import InfrastructureError, UnknownName
from rlfactory.envs.client.client import EnvClient
from rlfactory.envs.client.oracle import tasks_with
from rlfactory.envs.tasks.registry import TaskRegistry
from rlfactory.envs.tasks.task import Task
from rlfactory.envs.tasks.validation.finding import Finding, Level, Rule, Status, ValidationPolicy, policy_of
from rlfactory.envs.tasks.validation.played import PLAYED, Case
from rlfactory.envs.tasks.validation.spoiled import SPOILED
from rlfactory.envs.tasks.validation.static import STATIC, drawing

__all__ = ["RULES", "Chosen", "Finding", "Level", "Status", "Validation", "ValidationPolicy", "chosen", "read_policy"]

ALL_PLAYED: Final = (*PLAYED, *SPOILED)
RULES: Final[Sequence[Rule]] = (*(rule for rule, _ in STATIC), *(rule for rule, _ in ALL_PLAYED))


def read_policy(path: Path | None = None) -> ValidationPolicy:
    """Return the policy of a YAML file, by default the one that ships. Raises: as `policy_of`."""
    return policy_of(path, [rule.name for rule in RULES])


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """What is to be validated."""

    registry: TaskRegistry
    """All tasks there are."""
    templates: Sequence[type[Task]]
    files: tuple[Path, ...]
    """Of tasks beside those that ship."""


def chosen(targets: Sequence[str]) -> Chosen:
    """Return what targets stand for: suites, tasks, Python files of tasks (alone: all in them); none for everything.

    Raises: UnknownName: a target is neither suite, task nor file. TaskError: a file is none of tasks.
    """
    files = tuple(Path(each) for each in targets if each.endswith(".py"))
    names = {each for each in targets if not each.endswith(".py")}
    registry = tasks_with(files)
    known = {task.suite for task in registry} | {task.name for task in registry}
    for each in sorted(names - known):
        raise UnknownName.of("suite or task", each, known)
    besides = {task.name for task in tasks_with(())} if files else set()
    templates = [task for task in registry if ({task.suite, task.name} & names if names else task.name not in besides)]
    return Chosen(registry=registry, templates=templates, files=files)


@dataclass(frozen=True, kw_only=True, slots=True)
class Validation:
    """What is asked for, and what it is asked with."""

    registry: TaskRegistry
    policy: ValidationPolicy
    levels: Collection[Level] = tuple(Level)
    clients: tuple[EnvClient, EnvClient] | None = None
    """Of two services that offer the registry's tasks; None where only the static level is asked for."""
    at_once: int = 4
    """Templates."""

    async def of(
        self, templates: Iterable[type[Task]], told: Callable[[str], None] = lambda name: None
    ) -> list[Finding]:
        """Return a finding for each template and check, in order; `told` hears each template that is done."""
        places = asyncio.Semaphore(self.at_once)

        async def one(number: int, template: type[Task]) -> list[Finding]:
            async with places:
                # By turns: each service has a processor of its own.
                clients = self.clients if number % 2 or self.clients is None else self.clients[::-1]
                findings = [*self._static(template), *await self._played(template, clients)]
                told(template.name)
                return findings

        done = await asyncio.gather(*(one(number, template) for number, template in enumerate(templates)))
        return [finding for findings in done for finding in findings]

    def _static(self, template: type[Task]) -> list[Finding]:
        if Level.STATIC not in self.levels:
            return []
        drawn = drawing(self.registry, template.name)
        findings = []
        for rule, check in STATIC:
            try:
                evidence = check(template, drawn, self.policy.chance_of(template.name))
            except Exception as error:  # noqa: BLE001 - whatever a task raises as it is drawn or judged is what is wrong with it
                evidence = f"{type(error).__name__}: {error}"
            findings.append(self.policy.judge(template.name, rule, evidence))
        return findings

    async def _played(self, template: type[Task], clients: tuple[EnvClient, EnvClient] | None) -> list[Finding]:
        wanted = [(rule, check) for rule, check in ALL_PLAYED if rule.level in self.levels]
        if not wanted or clients is None:
            return []
        client, other = clients
        case = Case(
            template=template,
            registry=self.registry,
            client=client,
            other=other,
            chance=self.policy.chance_of(template.name),
        )
        findings = []
        for rule, check in wanted:
            try:
                evidence = await check(case)
            except InfrastructureError as error:
                findings.append(Finding(task=template.name, rule=rule, status=Status.SKIPPED, evidence=str(error)))
                continue
            except Exception as error:  # noqa: BLE001 - as above; an oracle is a part of its task
                evidence = f"{type(error).__name__}: {error}"
            findings.append(self.policy.judge(template.name, rule, evidence))
        return findings
