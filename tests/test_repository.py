"""The house rules that no linter knows: size of files and functions, no addresses of registries."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.commands import ROOT, output_of, tracked

MAX_LINES = 500
MAX_BODY_LINES = 60
"""Of a function, its signature not counted: a command's options are a list."""
GENERATED = "envs/wire/v1/"
REGISTRY = re.compile(
    r"(?:pypi|pythonhosted|npmjs|registry\.[a-z-]+|deb\.debian|files\.[a-z]+host)[a-z.-]*\.(?:org|com|io)\b"
)


def files(*suffixes: str) -> list[Path]:
    return [path for name in tracked() if (path := ROOT / name).suffix in suffixes and path.is_file()]


def test_pages_and_scripts_hold_one_idea() -> None:
    """As Python does: `test_architecture.py`."""
    long = {str(path): len(path.read_text().splitlines()) for path in files(".js", ".css", ".jinja", ".sh")}
    assert {name: lines for name, lines in long.items() if lines > MAX_LINES} == {}


def test_functions_are_short() -> None:
    long = []
    for path in files(".py"):
        if GENERATED in str(path):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                lines = node.end_lineno - node.body[0].lineno + 1
                if lines > MAX_BODY_LINES:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {lines} lines")
    assert long == []


def test_no_address_of_a_package_registry() -> None:
    texts = files(".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".sh", ".json", "", ".cfg")
    found = [str(path.relative_to(ROOT)) for path in texts if REGISTRY.search(path.read_text(errors="replace"))]
    assert [name for name in found if name != "tests/test_repository.py"] == []


@pytest.mark.parametrize(
    ("file", "extras"),
    [
        ("constraints.txt", ("train", "tools", "docs", "dev")),
        ("constraints-gpu.txt", ("train", "gpu", "tools", "dense", "dev")),
    ],
)
def test_constraints_are_exact_and_hold_what_pyproject_asks_for(file: str, extras: tuple[str, ...]) -> None:
    lines = [line for line in (ROOT / file).read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9._+!-]+", line)] == []
    pinned = {normal(line.split("==")[0]) for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + [each for extra in extras for each in project["optional-dependencies"][extra]]
    names = {normal(re.split(r"[<>=\[!~ ]", entry)[0]) for entry in wanted}
    assert names - pinned - {"rlfactory"} == set()


def test_the_trainers_image_installs_what_search_and_sql_tools_import() -> None:
    installed = re.search(
        r"-c constraints-gpu\.txt '\.\[([a-z,]+)\]'", (ROOT / "containers/trainer/Dockerfile").read_text()
    )
    assert installed is not None
    assert {"gpu", "tools", "dense"} <= set(installed[1].split(","))


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize(
    "package", ["rlfactory", "rlfactory.envs.client", "rlfactory.envs.service.server", "rlfactory.emulators.pool"]
)
def test_the_base_install_needs_no_torch(package: str) -> None:
    heavy = "torch, ray, verl, transformers"
    code = f"import sys, {package}; print([name for name in '{heavy}'.split(', ') if name in sys.modules])"
    assert output_of(sys.executable, "-c", code).strip() == "[]"


def test_make_lists_every_target() -> None:
    shown = output_of("make")
    names = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"setup", "train", "test", "check", "serve", "eval", "emulators", "images", "proto", "bench"} <= names
    assert [name for name in names if not re.search(rf"\b{name}\b", shown)] == []
