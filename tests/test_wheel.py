"""An installed RLFactory beside a project that has packages of its own with the names of our folders."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.commands import ROOT, tracked

OURS = ("envs", "emulators", "trainer", "processes")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build one, without a network: what the build needs is in this environment."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in tracked("rlfactory", *OURS, "pyproject.toml", "README.md", "LICENSE"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name, follow_symlinks=False)
    pip("wheel", "--no-build-isolation", "--wheel-dir", str(out), str(source))
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def project(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with packages of the names that our folders have, and RLFactory installed beside it."""
    folder = tmp_path_factory.mktemp("project")
    pip("install", "--target", str(folder / "installed"), str(wheel))
    for name in OURS:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(f"WHOSE = 'the user\\'s {name}'\n")
    return folder


def pip(command: str, *arguments: str) -> None:
    options = ("--no-deps", "--no-index", "--disable-pip-version-check", "--quiet")
    subprocess.run([sys.executable, "-m", "pip", command, *options, *arguments], check=True, timeout=100)


def run(project: Path, *command: str) -> str:
    """Run a program in the project; its own packages come first, then what is installed, never this repository."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(project), str(project / "installed")))}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_only_package_is_rlfactory_and_nothing_is_left_out(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"rlfactory"}
    wanted = {f"rlfactory/{name}" for name in tracked(*OURS) if not name.endswith((".md", ".pyi"))}
    assert wanted | {"rlfactory/py.typed"} <= names  # without the last, mypy takes all of ours for Any


def test_both_are_imported_side_by_side(project):
    code = "import envs, trainer, rlfactory.trainer.cli as ours; from rlfactory.envs.client import EnvClient"
    printed = run(project, sys.executable, "-c", f"{code}; print(envs.WHOSE, trainer.WHOSE, ours.__file__, sep='|')")
    user_envs, user_trainer, ours = printed.strip().split("|")
    assert (user_envs, user_trainer) == ("the user's envs", "the user's trainer")
    assert Path(ours).is_relative_to(project / "installed")


def test_the_command_works_and_its_service_too(project):
    command = (str(project / "installed/bin/rlfactory"), "eval", "--policy", "oracle", "--episodes", "1")
    report = run(project, *command, "--tasks", "settings.wifi_on", "--json")
    assert json.loads(report)["success"] == 1.0


def test_hosts_of_phones_queries_and_code_of_models_run_in_children(project):
    code = """
import asyncio, sqlite3
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.hosted import ProcessSource
from rlfactory.envs.sandbox.config import SandboxConfig
from rlfactory.envs.sandbox.sandboxes import Sandboxes
from rlfactory.envs.tools.sql.database import SqliteBytes
from rlfactory.envs.tools.sql.workers import SqlWorkers

async def main():
    source = ProcessSource(PhoneConfig(width_px=270, height_px=600))
    phone = await source.start()
    print((await phone.shell("expr 6 '*' 7", timeout_s=20)).stdout)
    await source.stop(phone)
    await source.close()
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (x)")
    async with SqlWorkers() as workers:
        print((await workers.run(SqliteBytes(connection.serialize()), "SELECT 6 * 7", timeout_s=20)).rows[0][0])
    sandboxes = Sandboxes(SandboxConfig(unsafe_local=True, spares=0))
    print((await (await sandboxes.open()).run("6 * 7", timeout_s=20)).output)
    await sandboxes.close()

asyncio.run(main())
"""
    assert run(project, sys.executable, "-c", code).split() == ["42", "42", "42"]


def test_the_plugin_that_verl_loads_is_ours_and_not_a_module_of_the_user(project):
    code = (
        "from importlib.metadata import entry_points; from importlib.util import find_spec\n"
        "(plugin,) = {each.value for each in entry_points(group='verl.plugins') if each.name == 'rlfactory'}\n"
        "print(find_spec(plugin).origin)"
    )
    assert Path(run(project, sys.executable, "-c", code).strip()).is_relative_to(project / "installed")


def test_a_new_project_passes_its_tests_and_its_recipe_composes(project):
    made = project / "made"
    run(project, str(project / "installed/bin/rlfactory"), "init", str(made))
    quick = (*("-p", "no:cacheprovider", "-q", "-k", "0 or around"), f"--rootdir={made}", str(made))
    assert "3 passed" in run(project, sys.executable, "-m", "pytest", *quick)
    if find_spec("verl"):
        code = "import sys; from rlfactory.trainer.run.recipe import compose_recipe; print(compose_recipe(sys.argv[1]))"
        composed = run(project, sys.executable, "-c", code, str(made / "recipe.yaml"))
        assert f"'dialect': '{made}/dialect.py:POLITE'" in composed
