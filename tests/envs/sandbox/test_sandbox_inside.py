"""The interpreter's own parts: running code, its traceback, and the supervisor around it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from rlfactory.envs.sandbox.interpreter import Supervisor, _execute
from rlfactory.envs.sandbox.sandboxes import Ran, RunStatus, _read
from rlfactory.processes.errors import ProgramEnded


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Code leaves its process deaf to SIGINT; here that is the process of all tests."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.mark.parametrize(
    ("code", "fine", "said"),
    [
        ("1 + 1", True, "2\n"),
        ("x = 1", True, ""),
        ("None", True, ""),
        ("", True, ""),
        ("raise SystemExit(0)", True, ""),
        ("raise SystemExit(3)", False, ""),
        ("print(y)", False, "NameError: name 'y' is not defined\n"),
        ("def f():\n  return 1 / 0\nf()", False, "ZeroDivisionError: division by zero\n"),
        ("if", False, "SyntaxError: invalid syntax\n"),
    ],
)
def test_code_is_run_and_told(capsys, code, fine, said):
    namespace: dict[str, Any] = {}
    assert _execute(code, namespace) is fine
    captured = capsys.readouterr()
    assert (captured.out + captured.err).endswith(said)
    if "def f" in code:
        assert '  File "<code>", line 2, in f\n    return 1 / 0\n' in captured.err


def test_the_supervisor_keeps_one_child_and_replaces_it():
    caller, other_end = os.pipe()
    supervisor = Supervisor(alone=False, caller=caller)
    try:
        assert supervisor.answer({"code": "x = 1\nx", "timeout_s": 20}) == {
            "status": "ok",
            "output": "1\n",
            "kept": True,
        }
        ended = supervisor.answer({"code": "import os\nos._exit(4)", "timeout_s": 20})
        assert (ended["status"], ended["kept"]) == ("ended", False)
        assert "exit status 4: its own doing" in ended["output"]
        assert "NameError" in supervisor.answer({"code": "x", "timeout_s": 20})["output"]
        flood = supervisor.answer({"code": "print('x' * 50_000_000)", "timeout_s": 20})
        assert "bytes cut ...]" in flood["output"] and "no more can be written" in flood["output"]
    finally:
        supervisor.end()
        os.close(caller)
        os.close(other_end)


def test_an_answer_that_was_not_agreed_is_not_believed():
    agreed = b'{"status": "ok", "output": "1", "kept": true, "nonce": "7"}'
    assert _read(agreed, "7") == Ran(status=RunStatus.OK, output="1", kept=True)
    for line in (b"", b"{}", b"[]", agreed.replace(b"ok", b"fine"), agreed.replace(b"7", b"8"), b"\xff"):
        with pytest.raises(ProgramEnded):
            _read(line, "7")
