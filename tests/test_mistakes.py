"""Mistakes of a newcomer with files of one's own: each is answered by one line that names file and line, or the option.

What is mistyped on the command line alone: `test_cli_errors.py`.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from rlfactory.cli import run

GOOD = (Path(__file__).parents[1] / "rlfactory/starter/tasks.py").read_text()
FILES = {
    "tasks.py": GOOD,
    "syntax.py": "def broken(:\n    pass\n",
    "missing.py": "import random\nimport no_such_module\n",
    "typo.py": GOOD.replace("class Bubbles(Task)", "class Bubbles(Tsk)"),
    "empty.py": "X = 1\n",
    "abstract.py": re.sub(r"    async def solve.*?(?=\nclass|\Z)", "", GOOD, flags=re.DOTALL),
    "taken.py": GOOD.replace('"demo.bubbles"', '"settings.wifi_on"'),
    "other_app.py": GOOD.replace('"com.android.settings"', '"com.android.setings"'),
    "apps_text.py": GOOD.replace('("com.android.settings",)', '("com.android.settings")'),
    "goal_method.py": GOOD.replace("    @property\n    def goal", "    def goal", 1),
    "no_description.py": GOOD.replace("    description: ClassVar[str]", "    about: ClassVar[str]"),
    "turns_text.py": GOOD.replace("max_turns: ClassVar[int] = 2", 'max_turns = "2"'),
    "no_split.py": GOOD.replace("    max_turns: ClassVar[int] = 2", '    splits = ("training", "test")'),
    "plain_solve.py": re.sub(
        r"async def solve.*?(?=\nclass)", "def solve(self, ui):\n        pass\n", GOOD, flags=re.DOTALL
    ),
    "colon.yaml": "tools: [unclosed\n",
    "unknown_key.yaml": "tools:\n  stock:\n    functoin: stock.py:stock\n",
    "no_function.yaml": "tools:\n  stock:\n    function: tasks.py:nothing\n",
    "no_file.yaml": "tools:\n  stock:\n    function: gone.py:stock\n",
    "no_variable.yaml": "tools:\n  other:\n    model: {url: http://h/v1, model: m, key: '${NO_SUCH_KEY}'}\n",
    "recipe.yaml": "defaults: [tiny_phone, _self_]\nrlfactory:\n  dialekt: qwen3_vl\n",
    "broken_recipe.yaml": "defaults: [tiny_phone, _self_]\nrlfactory:\n  dialect: [\n",
    "base_recipe.yaml": "defaults: [tiny_fone, _self_]\n",
    "service.yaml": "phons: 8\n",
    "wrong_value.yaml": "phones: many\n",
}
MISTAKES = [
    ("play demo.bubbels --tasks-file tasks.py", r"no task 'demo\.bubbels'; close: demo\.bubbles"),
    ("tasks --tasks-file nowhere.py", r"nowhere\.py: there is no such file"),
    ("tasks --tasks-file syntax.py", r"syntax\.py:1: SyntaxError"),
    ("tasks --tasks-file missing.py", r"missing\.py:2: ModuleNotFoundError.*no_such_module"),
    ("tasks --tasks-file typo.py", r"typo\.py:\d+: NameError.*Tsk"),
    ("tasks --tasks-file empty.py", r"empty\.py defines no task: a subclass of rlfactory\.envs\.tasks\.task\.Task"),
    ("tasks --tasks-file abstract.py", r"abstract\.py:\d+: task Bubbles lacks solve"),
    (
        "tasks --tasks-file apps_text.py",
        r"task Bubbles: apps is the text .*a tuple is wanted: \('com\.android\.settings',\)",
    ),
    (
        "tasks --tasks-file goal_method.py",
        r"task Bubbles: goal is a method; write @property above it \(.*goal_method\.py:\d+\)",
    ),
    ("tasks --tasks-file plain_solve.py", r"task Bubbles: solve has to be `async def` \(.*plain_solve\.py:\d+\)"),
    ("tasks --tasks-file no_description.py", r"task Bubbles: it has no description; a line of text is wanted"),
    ("tasks --tasks-file turns_text.py", r"task Bubbles: max_turns is '2'; a number of at least 1 is wanted"),
    ("tasks --tasks-file no_split.py", r"task Bubbles: no split 'training'; there are: train, validation, test"),
    ("tasks --tasks-file taken.py", r"taken\.py: .*'settings\.wifi_on'"),
    ("eval --policy oracle --dialect tasks.py:POLITE --policy openai:http://h/v1,m", r"tasks\.py has no 'POLITE'"),
    ("eval --policy oracle --dialect tasks.py:KEY --policy openai:http://h/v1,m", r"tasks\.py:KEY is no dialect"),
    ("eval --policy openai:http://h/v1,m --dialect tasks.py", r"dialect 'tasks\.py' is a file.*tasks\.py:NAME"),
    ("status http://127.0.0.1:7000", r"'http://127\.0\.0\.1:7000' is no address of a service: HOST:PORT"),
    ("init gone/..", r"there is such a file or folder already: gone/\.\."),
    ("serve --phones 0 --port 0 --tools colon.yaml", r"colon\.yaml"),
    ("serve --phones 0 --port 0 --tools unknown_key.yaml", r"unknown_key\.yaml.*functoin"),
    ("serve --phones 0 --port 0 --tools no_function.yaml", r"no_function\.yaml.*nothing"),
    ("serve --phones 0 --port 0 --tools no_file.yaml", r"no_file\.yaml.*gone\.py"),
    ("serve --phones 0 --port 0 --tools no_variable.yaml", r"no_variable\.yaml.*NO_SUCH_KEY"),
    ("serve --config service.yaml", r"service\.yaml.*'phons'.*phones"),
    ("serve --config wrong_value.yaml", r"wrong_value\.yaml.*phones.*'many'"),
    ("serve --phones 0 --port 0 --tasks nowhere.py", r"nowhere\.py: there is no such file"),
    (
        "serve --phones 1 --port 0 --tasks other_app.py",
        r"task demo\.bubbles: no app 'com\.android\.setings'; close: com\.android\.settings.*--apps FILE",
    ),
    ("serve --phones 1 --port 0 --apps empty.py", r"empty\.py defines no app: rlfactory\.emulators\..*App"),
    (
        "serve --phones 1 --port 0 --transport docker --apps empty.py",
        r"apps of a file are for transport direct and adb",
    ),
    ("serve --host 0.0.0.0 --phones 0 --port 0", r"--token-file"),
]
RECIPES = [
    ("train ./nowhere.yaml", r"no recipe file \./nowhere\.yaml"),
    ("train tiny_fone", r"no recipe 'tiny_fone'; close: tiny_phone"),
    ("train ./recipe.yaml", r"recipe\.yaml:3: nobody reads 'rlfactory\.dialekt'; close: rlfactory\.dialect"),
    ("train ./broken_recipe.yaml", r"broken_recipe\.yaml.*line 4"),
    ("train ./base_recipe.yaml", r"tiny_fone"),
    ("train trainer.total_steps=3", r"'trainer\.total_steps'.*total_training_steps"),
    ("train tiny_phone rlfactory.dialect", r"'rlfactory\.dialect' is not key=value"),
    (
        "train tiny_phone trainer.total_training_steps=two",
        r"total_training_steps is 'two'; a whole number of at least 0",
    ),
    ("train tiny_phone rlfactory.service.phones=eight", r"rlfactory\.service\.phones is 'eight'; a whole number"),
    (
        "train tiny_phone data.train_batch_size=0",
        r"data\.train_batch_size is 0; a whole number of at least 1 is wanted",
    ),
    (
        "train tiny_phone data.episodes.tasks=tiny.wifi",
        r"data\.episodes\.tasks is the text 'tiny\.wifi'; a list is wanted",
    ),
    ("train --resume --name gone", r"no run to resume in runs/gone"),
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answered(line: str, capfd: pytest.CaptureFixture[str]) -> str:
    assert run(shlex.split(line)) in (1, 2)
    printed = capfd.readouterr().err
    assert re.fullmatch(r"error: [^\n]+\n", printed), printed
    return printed


@pytest.mark.parametrize(("line", "words"), MISTAKES, ids=[line for line, _ in MISTAKES])
@pytest.mark.usefixtures("project")
def test_a_mistake_is_answered_by_one_line(line: str, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    printed = answered(line, capfd)
    assert re.search(words, printed), printed


@pytest.mark.train
@pytest.mark.parametrize(("line", "words"), RECIPES, ids=[line for line, _ in RECIPES])
@pytest.mark.usefixtures("project")
def test_a_mistake_in_a_recipe_is_answered_by_one_line(
    line: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    printed = answered(line, capfd)
    assert re.search(words, printed), printed
