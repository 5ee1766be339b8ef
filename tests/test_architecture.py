"""The shape of the house: no circles, few imports inside functions, no crowded folder, no huge file, no fragment.

The order of the packages and inside them is import-linter's part (`pyproject.toml`). Imports under `TYPE_CHECKING` are
left out everywhere: they are for readers and mypy, and nothing depends on them when the code runs.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("emulators", "envs", "trainer", "processes")
OTHERS = ("tests", "benchmarks", "containers", "scripts")
GENERATED = ("envs/wire/v1/", "emulators/device/controller/")
MOST_IMPORTS_IN_FUNCTIONS = 40
MOST_FILES_IN_A_FOLDER = 20
MOST_LINES = 500
FRAGMENT_LINES = 30


@cache
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("rlfactory", exclude_type_checking_imports=True, cache_dir=None)


def sources(*folders: str, pattern: str = "*.py") -> list[Path]:
    """Return the files below the folders, from the root of the repository, generated ones left out."""
    files = (file.relative_to(ROOT) for folder in folders for file in sorted((ROOT / folder).rglob(pattern)))
    files = (file for file in files if (ROOT / file).is_file() and "__pycache__" not in file.parts)
    return [file for file in files if not file.as_posix().startswith(GENERATED)]


def module_name(file: Path) -> str:
    return ".".join(("rlfactory", *file.with_suffix("").parts)).removesuffix(".__init__")


def lines_of(file: Path) -> int:
    return len((ROOT / file).read_text().splitlines())


def own_imports_in_functions(file: Path) -> Iterator[str]:
    tree = ast.parse((ROOT / file).read_text())
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    found = {node: None for function in functions for node in ast.walk(function)}
    for node in (node for node in found if isinstance(node, ast.Import | ast.ImportFrom)):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        if any(name.split(".")[0] == "rlfactory" for name in names):
            yield f"{file}:{node.lineno}"


def test_no_module_imports_itself_in_a_circle() -> None:
    imports = {name: graph().find_modules_directly_imported_by(name) for name in graph().modules}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_imports_inside_functions_are_few() -> None:
    found = [where for file in sources(*PACKAGES) for where in own_imports_in_functions(file)]
    assert len(found) <= MOST_IMPORTS_IN_FUNCTIONS, "\n".join(found)


def test_no_folder_is_crowded() -> None:
    counts = Counter(file.parent.as_posix() for file in sources(*PACKAGES, "tests", "benchmarks", pattern="*"))
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES_IN_A_FOLDER} == {}


def test_no_file_is_huge() -> None:
    sizes = {str(file): lines_of(file) for file in sources(*PACKAGES, *OTHERS, pattern="*")}
    assert {file: size for file, size in sizes.items() if size > MOST_LINES} == {}


def test_no_fragment_has_a_single_user() -> None:
    """A module of a few lines that only one other imports belongs into that one."""
    fragments = {}
    for file in sources(*PACKAGES):
        if file.name in {"__init__.py", "__main__.py"} or lines_of(file) >= FRAGMENT_LINES:
            continue
        users = graph().find_modules_that_directly_import(module_name(file))
        if len(users) == 1:
            fragments[str(file)] = users.pop()
    assert fragments == {}
