"""The front door when something is wrong: one clear line, an exit code, and nothing left running."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rlfactory.cli import run
from tests import commands


def rlfactory(*arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return commands.run(*prefix, *commands.RLFACTORY, *arguments, timeout_s=60)


def assert_one_line(done: subprocess.CompletedProcess[str], exit_code: int, words: str) -> None:
    assert done.returncode == exit_code, done.stderr
    assert re.fullmatch(r"error: [^\n]+\n", done.stderr), done.stderr
    assert re.search(words, done.stderr), done.stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("taskz", r"Did you mean 'tasks'"),
        ("tasks --jsn", r"No such option.*--json"),
        ("tasks --suite phon", r"no suite 'phon'; close: phone"),
        ("tasks --split holdout", r"split 'holdout'"),
        ("serve --port 99999", r"--port.*65535"),
        ("serve --transport usb", r"--transport.*direct.*adb"),
        ("eval --policy", r"'--policy' requires an argument"),
        ("eval --episodes 1 --out README.md/x", r"--out README.md/x: README.md/?\S* is a file; give a folder"),
        ("eval --policy orakel", r"no policy 'orakel'; close: oracle"),
        ("eval --policy oracle --screen big", r"--screen is written WIDTHxHEIGHT"),
        ("eval --policy openai:nowhere", r"openai:URL,MODEL"),
        ("eval --policy checkpoint:no/such", r"no checkpoint folder 'no/such'"),
        ("eval --policy openai:http://h/v1,m --dialect qwen3_v", r"no dialect 'qwen3_v'; close: qwen3_vl"),
        ("eval --policy oracle --episodes 0", r"--episodes.*greater than or equal to 1"),
        ("eval --policy oracle --split holdout", r"--split.*validation"),
        ("eval --policy oracle --ablate sound", r"--ablate.*image"),
        ("report no/such/run", r"no run in no/such/run"),
    ],
)
def test_a_slip_is_answered_by_one_line(line: str, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    code = run(shlex.split(line))
    assert_one_line(subprocess.CompletedProcess(line, code, *capfd.readouterr()), 2, words)


@pytest.mark.parametrize("missing", ["psutil", "hydra"])
def test_training_without_its_extra_is_answered_by_one_line(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from rlfactory.cli import run; sys.exit(run(['train']))"
    done = commands.run(sys.executable, "-c", code, timeout_s=60)
    assert_one_line(done, 2, rf"training needs {missing}.*: install rlfactory\[train\]")


@pytest.mark.parametrize(
    ("missing", "line"), [("omegaconf", "eval --policy checkpoint:/tmp"), ("tantivy", "serve-search no-index")]
)
def test_a_command_without_its_extra_is_answered_by_one_line(missing: str, line: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None; from rlfactory.cli import run; sys.exit(run({line.split()!r}))"
    )
    done = commands.run(sys.executable, "-c", code, timeout_s=60)
    assert_one_line(done, 2, rf"this needs {missing}, of an extra that is not installed: rlfactory\[train,tools\]")


def test_unknown_task_lists_close_names() -> None:
    done = rlfactory("eval", "--policy", "oracle", "--tasks", "settings.wifi_onn", "--episodes", "1")
    assert_one_line(done, 2, r"no task of the validation split 'settings\.wifi_onn'; close: .*settings\.wifi_on")


def test_a_service_that_is_not_there() -> None:
    done = rlfactory("eval", "--policy", "random", "--address", "127.0.0.1:1")
    assert_one_line(done, 1, r"no environment service at 127\.0\.0\.1:1")


def test_a_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = rlfactory("serve", "--port", str(port), "--phones", "1")
    assert_one_line(done, 1, rf"in use.*127\.0\.0\.1:{port}")


def test_an_endpoint_that_is_not_there() -> None:
    done = rlfactory("eval", "--policy", "openai:http://127.0.0.1:1/v1,m", "--suite", "phone", "--episodes", "1")
    assert_one_line(done, 1, r"no episode could be played.*no answer from http://127\.0\.0\.1:1/v1")


def test_a_full_disk() -> None:
    """A file system of 64 kB, in a mount namespace of its own so that nothing is left of it."""
    script = 'mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"'
    unshare = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-rm")
    folder = "/mnt"
    if subprocess.run([*unshare, "bash", "-c", script, folder, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine allows no mount namespaces")
    prefix = (*unshare, "bash", "-c", script, folder)
    done = rlfactory(
        "eval", "--policy", "oracle", "--suite", "phone", "--episodes", "2", "--out", f"{folder}/run", prefix=prefix
    )
    assert_one_line(done, 1, r"the disk is full")


def test_an_evaluation_deletes_nothing(tmp_path: Path) -> None:
    kept = tmp_path / "episodes.jsonl"
    kept.write_text("{}\n")
    done = rlfactory("eval", "--policy", "oracle", "--episodes", "1", "--out", str(tmp_path))
    assert_one_line(done, 2, r"is not empty, and what is in it is kept; give --out another folder")
    assert kept.read_text() == "{}\n"


def test_debug_shows_where_it_happened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLFACTORY_DEBUG", "1")
    done = rlfactory("tasks", "--suite", "phon")
    assert "Traceback" in done.stderr
    assert done.stderr.endswith("error: no suite 'phon'; close: phone\n")
