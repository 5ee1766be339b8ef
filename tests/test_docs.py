"""The documents say what is there: links, paths, modules and names in Python, the README's commands and tasks."""

from __future__ import annotations

import ast
import functools
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commands import ROOT, output_of, tracked

DOCUMENTS = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
MADE = frozenset({".venv", "runs", "logs", "images", "checkpoints", "policy", "my-data", "demo"})
"""Folders that programs or the reader make."""
ENTRY_POINTS = frozenset(f"rlfactory.{group}" for group in ("tasks", "tools", "dialects", "apps"))
"""Groups, where packages name what they offer."""
OWN_PROGRAMS = "agent client fork look_and_tap many my_app my_task my_tasks mytools shop shout"
OF_READERS = frozenset(f"{name}.py" for name in OWN_PROGRAMS.split())
"""Modules that the documents ask the reader to write."""
WORD = re.compile(r"[\w.*<>-]*[\w*>-](?:/[\w.*<>-]+)*/?")
SOURCE = (".py", ".proto", ".sh", ".jinja", ".js", ".css")

TRACKED = tracked()
TOP_LEVEL = frozenset(path.partition("/")[0] for path in TRACKED)
FILE_NAMES = frozenset(Path(path).name for path in TRACKED)


def dead_names(text: str) -> list[str]:
    """Return what a document names and this repository lacks: files, folders, modules, names in modules."""
    spans = re.findall(r"`([^`\n]+)`", text) + re.findall(r"^```[a-z]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    words = [word for span in spans for word in re.split(r"[\s,;:='\"()\[\]{}#]+", span)]
    dead = [word for word in words if is_dead_path(word)]
    dead += [
        name for name in re.findall(r"\b(?:rlfactory|benchmarks|containers)(?:\.\w+)+", text) if is_dead_name(name)
    ]
    for module, imported in re.findall(r"^from (rlfactory\.[\w.]+) import ([\w, ]+)", text, re.MULTILINE):
        names = [name.partition(" as ")[0].strip() for name in imported.split(",")]
        dead += [full for name in names if is_dead_name(full := f"{module}.{name}")]
    return dead


def is_dead_path(word: str) -> bool:
    if not WORD.fullmatch(word):
        return False
    first, _, rest = word.partition("/")
    if not rest and not word.endswith("/"):  # the name of a file alone
        return word.endswith(SOURCE) and word not in OF_READERS and word not in FILE_NAMES
    if first in TOP_LEVEL:
        return not any(ROOT.glob(word.rstrip("/")))
    return word.endswith(SOURCE) and first not in MADE


def is_dead_name(name: str) -> bool:
    """Whether a dotted name is neither a module, nor something at the top of one, nor a key of a recipe."""
    path, parts = ROOT, name.split(".")
    while parts and (path / parts[0]).is_dir():
        path /= parts.pop(0)
    if not parts or name in ENTRY_POINTS or is_recipe_key(name.split(".")):
        return False
    if (module := path / f"{parts[0]}.py").is_file():
        return bool(parts[1:]) and parts[1] not in defined(module)
    package = path / "__init__.py"
    return not (package.is_file() and parts[0] in defined(package))


@functools.cache
def defined(path: Path) -> set[str]:
    """Return the names that a module's statements bind, imported ones too."""
    bound = set()
    for statement in ast.parse(path.read_text()).body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Import(names=imported) | ast.ImportFrom(names=imported):
                bound |= {alias.asname or alias.name for alias in imported}
            case ast.Assign() | ast.AnnAssign():
                bound |= {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    return bound


@functools.cache
def recipes() -> list[Any]:
    return [yaml.safe_load(path.read_text()) for path in (ROOT / "trainer/configs").glob("*.yaml")]


def is_recipe_key(parts: list[str]) -> bool:
    for recipe in recipes():
        node = recipe
        for part in parts[:-1]:
            node = node.get(part) if isinstance(node, dict) else None
        if isinstance(node, dict) and parts[-1] in node:
            return True
    return False


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_the_documents_name_exists(path: Path) -> None:
    assert dead_names(path.read_text()) == []


@pytest.mark.parametrize(
    "text",
    [
        "`envs/no_such.py`",
        "see `envs/tasks/no_such/`, or",
        "`python -m rlfactory.envs.no_such`",
        "rlfactory.envs.client.NoSuch",
        "`rlfactory.service.no_such: 0`",
        "`no_such.py`",
        "`env/client/client.py`",
        "```python\nfrom rlfactory.envs.client import EnvClient, NoSuch\n```\n",
        "```bash\npython scripts/no_such.py --check\n```\n",
    ],
)
def test_a_wrong_name_is_found(text: str) -> None:
    assert len(dead_names(text)) == 1


def test_the_architecture_shows_every_folder_of_code() -> None:
    (tree,) = re.findall(r"^```text\n(.*?)^```", (ROOT / "docs/architecture.md").read_text(), re.DOTALL | re.MULTILINE)
    shown, above = set(), [""]
    for line in tree.splitlines():
        entry = re.fullmatch(r"((?:  )*)([\w.]+)/ +\w.+", line)
        assert entry, f"no folder with a sentence: {line}"
        depth = len(entry[1]) // 2
        above[depth + 1 :] = [f"{above[depth]}{entry[2]}/"]
        shown.add(above[-1])
    folders = {f"{folder}/" for name in TRACKED for folder in Path(name).parents if (ROOT / name).is_file()}
    assert shown == {
        folder for folder in folders if folder.startswith(("emulators/", "envs/", "trainer/", "processes/"))
    }


def test_links_lead_somewhere() -> None:
    broken = []
    for path in (ROOT / name for name in TRACKED if name.endswith(".md")):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text()):
            if "://" not in target and not (path.parent / target).exists():
                broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert broken == []


def test_readme_commands_are_those_that_ci_runs() -> None:
    listed = output_of(sys.executable, "scripts/readme_commands.py").splitlines()
    assert {"make train", "make test"} <= set(listed)
    assert "scripts/readme_commands.py" in (ROOT / ".ci/run").read_text()


def test_readme_lists_the_tasks_of_the_recipe() -> None:
    recipe = yaml.safe_load((ROOT / "trainer/configs/tiny_phone.yaml").read_text())
    readme = (ROOT / "README.md").read_text()
    assert [task for task in recipe["data"]["episodes"]["tasks"] if f"`{task}`" not in readme] == []
