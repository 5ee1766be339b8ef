"""The options of `rlfactory serve` that take more than a line to explain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PhonesPerHost = Annotated[
    int, typer.Option(min=1, max=64, help="Phones that share a process or a container; forks need it shared.")
]
Serials = Annotated[list[str] | None, typer.Option(help="Transport attached: a phone; repeat it for more.")]
AdbPort = Annotated[
    int, typer.Option(min=0, max=65535, help="Transport attached: of the adb server. 0: our own, for HOST:PORT.")
]
Image = Annotated[str, typer.Option(help="Transport docker: of the phones' containers.")]
DockerHost = Annotated[
    str, typer.Option("--docker-host", envvar="DOCKER_HOST", help="The Docker engine; empty: this machine's socket.")
]
MetricsPort = Annotated[
    int, typer.Option(min=-1, max=65535, help="Prometheus metrics over HTTP on loopback. 0: a free one, -1: none.")
]
ToolsFile = Annotated[Path | None, typer.Option(help="A file of tools, YAML or JSON, beside those that ship.")]
TaskFiles = Annotated[
    list[Path] | None,
    typer.Option("--tasks", help="A Python file of tasks beside those that ship; repeat it for more."),
]
ToolCache = Annotated[Path | None, typer.Option(help="Keeps answers of pure tools from run to run.")]
QuestionFile = Annotated[
    Path | None, typer.Option(help="JSONL of questions (NQ, HotpotQA): the task search_qa.<its name>.")
]
SearchIndexPlace = Annotated[str, typer.Option(help="For --questions: a folder made by `index`, or a URL.")]
JudgePlace = Annotated[str, typer.Option(help="For --questions: URL,MODEL of an OpenAI-compatible judge.")]
Text2SqlFolder = Annotated[
    Path | None, typer.Option(help="A folder laid out as Spider or BIRD: the task text2sql.<its name>.")
]
UnsafeLocal = Annotated[
    bool, typer.Option("--unsafe-local", help="Run code of models as processes of this machine, not in containers.")
]
Allow = Annotated[
    list[str] | None,
    typer.Option(metavar="SUITE=HOST:PORT", help="Code of this suite's sandboxes may reach this; repeat it for more."),
]
