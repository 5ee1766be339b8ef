"""Every block of the documents with a command or code: run, or read as what would run it reads it."""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from typer.core import TyperGroup
from typer.exceptions import TyperException

from rlfactory.cli import build_app
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from tests.commands import RLFACTORY, ROOT
from tests.test_docs import DOCUMENTS, dead_names

STARTER = ROOT / "rlfactory/starter"
ADDRESS = "127.0.0.1:7000"
"""Where the documents' programs expect a service."""
OTHER_PROGRAMS = frozenset(
    {
        "cd",
        "curl",
        "pip",
        "pytest",
        "python",
        "git",
        "kubectl",
        "scripts/",
        "containers/",
        ".ci/",
        ".venv/bin/python",
    }
)
"""What the documents may use beside `rlfactory` and `make`; their files are held by `test_docs.py`."""
NOT_HERE = {
    "ts": "a client in another language: tests/clients runs it",
    "mermaid": "a diagram",
    "text": "no code",
}


@dataclass(frozen=True, kw_only=True)
class Block:
    path: Path
    line: int
    language: str
    text: str

    @property
    def program(self) -> str:
        """The name of a whole program's file, as its first line tells; "" for a part of one."""
        named = re.match(r"# (\w+\.py)\n", self.text)
        return named[1] if named else ""


def blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a document."""
    found = []
    text = path.read_text()
    for match in re.finditer(r"^```(\w*)[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(path=path, line=line, language=match[1], text=match[2]))
    return found


BLOCKS = [block for path in [*DOCUMENTS, STARTER / "README.md"] for block in blocks(path)]
PROGRAMS = [block for block in BLOCKS if block.language == "python" and block.program]


def commands(block: Block) -> list[list[str]]:
    """Return a shell block's commands as words; a line that ends in a backslash goes on in the next one."""
    lines = block.text.replace("\\\n", " ").splitlines()
    split = [shlex.split(line.rstrip("&"), comments=True) for line in lines]
    found: list[list[str]] = []
    for words in split:
        while "&&" in words:
            at = words.index("&&")
            found.append(words[:at])
            words = words[at + 1 :]  # noqa: PLW2901 - the rest of the line
        found.append(words)
    return [words for words in found if words]


@functools.cache
def whole_command() -> Any:
    return typer.main.get_command(build_app())


def parse(words: list[str]) -> None:
    """Read a command line as `rlfactory` does, without doing anything. Raises: TyperException."""
    command: Any = whole_command()
    context = command.make_context("rlfactory", words)
    while isinstance(command, TyperGroup):
        name, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, words, parent=context)


def wrong(block: Block) -> list[str]:
    """Return what of a block would not work as it stands."""
    match block.language:
        case "bash":
            return [problem for words in commands(block) if (problem := wrong_command(words))]
        case "python":
            return wrong_python(block)
        case "yaml":
            yaml.safe_load(block.text)
        case "toml":
            tomllib.loads(block.text)
        case "json":
            json.loads(block.text)
        case "":
            return ["it does not say its language"]
        case language if language not in NOT_HERE:
            return [f"no test for {language}"]
    return []


def wrong_command(words: list[str]) -> str:
    while re.fullmatch(r"\w+=.*", words[0]):
        words = words[1:]
    match words:
        case ["rlfactory" | ".venv/bin/rlfactory", *rest]:
            try:
                parse(rest)
            except TyperException as error:
                return f"{shlex.join(words)}: {error.format_message()}"
            return ""
        case ["make", target, *_]:
            known = re.findall(r"^([a-z-]+)(?:%|:)", (ROOT / "Makefile").read_text(), re.MULTILINE)
            return "" if target in known or target.startswith("image-") else f"no make target {target!r}"
        case [program, *_]:
            other = program in OTHER_PROGRAMS or any(program.startswith(p) for p in OTHER_PROGRAMS if p.endswith("/"))
            return "" if other else f"{program!r} is no program that the documents may use"
    return ""


def wrong_python(block: Block) -> list[str]:
    """A part of a program is code whose imports are there; a part of `rlfactory init`'s project stands there."""
    if any(block.text.strip("\n") in path.read_text() for path in STARTER.glob("*.py")):
        return []
    compile(textwrap.dedent(block.text), str(block.path), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
    return dead_names(f"```python\n{block.text}```\n")


@pytest.mark.parametrize("path", sorted({block.path for block in BLOCKS}), ids=lambda path: path.name)
def test_blocks_are_what_they_look_like(path: Path) -> None:
    fenced = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
    assert (
        re.findall(r"^ {4}(?:rlfactory|make|pip|python|pytest) .*", fenced.sub("", path.read_text()), re.MULTILINE)
        == []
    )
    found = {f"{path.name}:{block.line}": wrong(block) for block in BLOCKS if block.path == path}
    assert {where: problems for where, problems in found.items() if problems} == {}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("bash", "rlfactory eval --polcy oracle\n"),
        ("bash", "rlfactory no-such-command\n"),
        ("bash", "make no-such-target\n"),
        ("bash", "frobnicate\n"),
        ("python", "from rlfactory.envs.client import NoSuch\n"),
        ("", "x\n"),
        ("cobol", "x\n"),
    ],
)
def test_a_block_that_would_not_work_is_found(language: str, text: str) -> None:
    assert len(wrong(Block(path=ROOT / "README.md", line=1, language=language, text=text))) == 1


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    command = (*RLFACTORY, "serve", "--json", "--port", "0", "--phones", "4")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield str(json.loads(process.stdout.readline())["address"])
        finally:
            process.terminate()


@pytest.mark.parametrize("block", PROGRAMS, ids=lambda block: block.program)
def test_programs_run(block: Block, service: str, tmp_path: Path) -> None:
    file = tmp_path / block.program
    file.write_text(block.text.replace(ADDRESS, service))
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        (sys.executable, file), cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_the_screens_that_a_task_can_begin_with_are_there() -> None:
    text = (ROOT / "docs/phone-task.md").read_text()
    found = re.findall(r"`(am start [^`]*)`", text)
    assert len(found) > 5
    phone = Phone(PhoneConfig())
    for command in found:
        done = phone.shell(command)
        assert done.exit_code == 0, f"{command}: {done.stdout!r} {done.stderr!r}"
    assert phone.shell("am start -n com.android.contacts/.NoSuch").exit_code != 0
