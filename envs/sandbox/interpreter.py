"""The Python interpreter of one session as a program: a supervisor, and a child that runs code and keeps its state.

Requests and answers are lines of JSON on standard input and output:

    {"code": "x = 1\\nx + 1", "timeout_s": 10, "nonce": "5f0c"}
    {"status": "ok" | "error" | "timeout" | "ended", "output": "2\\n", "kept": true, "nonce": "5f0c"}

`output` is what the code wrote, then the value of its last line if that is an expression, then its traceback. `kept`
tells whether variables live on. At the end of its time the code gets a KeyboardInterrupt; if that does not end it, its
process is killed and the next call begins anew. Between two calls the child is stopped, and with it the threads of its
code.

With `--alone`, as the first process of a container, everything else that the code started is killed after each call,
too. The kernel lets nobody inside kill a container's first process, and this one hides its memory and its descriptors:
code can neither end it nor read a nonce, which the answer to a call must bear, nor write on its standard output.

The standard library alone, in one file: it is copied into the image of the sandbox.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import fcntl
import json
import os
import resource
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, Final

WAY_OUT = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
"""Where the sandbox has a proxy to the hosts of its list, these name it."""
MAX_OUTPUT_BYTES: Final = 32 << 10
"""Of one call; head and tail are kept."""
MAX_FILE_BYTES: Final = 16 << 20
MAX_REQUEST_BYTES: Final = 4 << 20
INTERRUPT_GRACE_S: Final = 0.7
SWEEP_S: Final = 1.0
"""For the processes that a call left behind to die; what has not died or multiplies is ended with the interpreter."""
SWEEP_PAUSE_S: Final = 0.005
REAP_S: Final = 0.2
"""How often processes that the code has orphaned are buried while it runs: they count to its limit."""
PR_SET_PDEATHSIG: Final = 1
"""Of prctl(2): the signal that comes when the parent dies."""
PR_SET_DUMPABLE: Final = 4
"""Of prctl(2). At 0 only the superuser may look into /proc/PID, or trace the process."""
REPLY_NUMBER: Final = 3
"""The descriptor on which the child tells of a call's end: "ok NAME" or "no NAME". What bears another name is
passed over, so that nothing can be written ahead for calls to come."""
CODE_NAME: Final = "<code>"
CODE_NICE: Final = 10


class Supervisor:
    """Keeps one child, gives it code, and ends what does not end."""

    def __init__(self, *, alone: bool, caller: int) -> None:
        """Args: caller: the descriptor that requests come from; its end is the end of this program."""
        self._alone = alone
        self._caller = caller
        self._child: subprocess.Popen[bytes] | None = None
        self._call = ""
        """A name of the call that runs, which nobody could know before."""
        self._reply = -1
        self._output: IO[bytes] | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run one piece of code."""
        if self._child is None:
            self._start()
        child, output = self._child, self._output
        self._signal(signal.SIGCONT)
        assert child is not None and child.stdin is not None and output is not None
        os.ftruncate(output.fileno(), 0)
        status = "ended"
        self._call = secrets.token_hex(8)
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(json.dumps({"code": request["code"], "number": self._call}).encode() + b"\n")
            child.stdin.flush()
            status = self._wait(time.monotonic() + request["timeout_s"])
        text = _head_and_tail(output)
        kept = status in ("ok", "error", "interrupted")
        if status == "ended":
            text += f"\n[{self._last_words()}]"
        if kept:
            self._signal(signal.SIGSTOP)
        else:
            self.end()
        self._sweep()
        if kept and self._child is None:
            kept = False
            text += "\n[what it left running did not end without the interpreter; its variables are gone]"
        return {"status": "timeout" if status == "interrupted" else status, "output": text, "kept": kept}

    def _start(self) -> None:
        if sys.platform == "linux":
            self._output = os.fdopen(os.memfd_create("output"), "r+b")  # no file: the folder may be full
        else:
            self._output = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the child
        fcntl.fcntl(self._output, fcntl.F_SETFL, os.O_APPEND | os.O_RDWR)
        reading, writing = os.pipe()
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-B", "-u", __file__, "--child", str(writing)],
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=self._output,
            pass_fds=(writing,),
            start_new_session=True,
            env={
                **{name: os.environ[name] for name in WAY_OUT if name in os.environ},
                **{"HOME": str(Path.cwd()), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"},
            },
        )
        os.close(writing)
        self._reply = reading

    def _wait(self, deadline_s: float) -> str:
        """Return how the call ended: ok, error, interrupted, timeout, ended. Ends this program when its caller goes."""
        assert self._child is not None
        interrupted = False
        while True:
            left_s = deadline_s - time.monotonic()
            ready, _, _ = select.select([self._reply, self._caller], [], [], max(0.0, min(left_s, REAP_S)))
            self._bury(_processes() if self._alone else ())
            if self._caller in ready:  # nobody speaks while a call runs, so this is the end
                self.end()
                self._sweep()
                raise SystemExit
            if self._reply in ready:
                told = os.read(self._reply, select.PIPE_BUF)
                if not told:
                    return "ended"
                ends = told.splitlines()
                for end, status in ((b"ok", "ok"), (b"no", "error")):
                    if b"%s %s" % (end, self._call.encode()) in ends:
                        return "interrupted" if interrupted else status
            if time.monotonic() < deadline_s:
                continue
            if interrupted:
                return "timeout"
            interrupted = True
            deadline_s = time.monotonic() + INTERRUPT_GRACE_S
            self._signal(signal.SIGINT)

    def _signal(self, number: int) -> None:
        assert self._child is not None
        with contextlib.suppress(ProcessLookupError):
            self._child.send_signal(number)

    def _bury(self, dead: Iterable[int]) -> None:
        """Reap those of them that are dead: what the code has orphaned is a child of a container's first process."""
        for pid in dead:
            if self._child is None or pid != self._child.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)

    def _last_words(self) -> str:
        assert self._child is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._child.wait(1.0)
            reason = "it used too much memory, or killed itself" if code == -signal.SIGKILL else "its own doing"
            return f"the interpreter ended with exit status {code}: {reason}; its variables are gone"
        return "the interpreter does not answer any more; its variables are gone"

    def end(self) -> None:
        """End the child and what is of its session."""
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                self._child.kill()
            assert self._child.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self._child.stdin.close()
            self._child.wait()
            self._child = None
            os.close(self._reply)
            assert self._output is not None
            self._output.close()

    def _sweep(self) -> None:
        """Kill what the code left running. A fork bomb is ended by ending all at once, the child with it."""
        if not self._alone:
            return
        mine = {1, os.getpid(), *([self._child.pid] if self._child else ())}
        killed: set[int] = set()
        give_up_s = time.monotonic() + SWEEP_S
        while time.monotonic() < give_up_s:
            others = [pid for pid in _processes() if pid not in mine]
            self._bury(others)
            strangers = {pid for pid in others if _runs(pid)}
            if not strangers:
                return
            for pid in strangers:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if strangers <= killed:
                time.sleep(SWEEP_PAUSE_S)  # on a busy machine the killed take a moment to die
            killed |= strangers
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        self.end()


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


def _processes() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal()]


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    return False


def _head_and_tail(output: IO[bytes]) -> str:
    size = os.fstat(output.fileno()).st_size
    if size <= MAX_OUTPUT_BYTES:
        return os.pread(output.fileno(), size, 0).decode("utf-8", "replace")
    half = MAX_OUTPUT_BYTES // 2
    head = os.pread(output.fileno(), half, 0).decode("utf-8", "replace")
    tail = os.pread(output.fileno(), half, size - half).decode("utf-8", "replace")
    full = f"\n[no more can be written: {size} bytes is the limit]" if size >= MAX_FILE_BYTES else ""
    return f"{head}\n[... {size - 2 * half} bytes cut ...]\n{tail}{full}"


def supervise(*, alone: bool) -> None:
    """Answer requests until standard input ends."""
    _prctl(PR_SET_DUMPABLE, 0)
    with tempfile.TemporaryDirectory(prefix="session-", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        _answer_requests(alone=alone)


def _answer_requests(*, alone: bool) -> None:
    supervisor = Supervisor(alone=alone, caller=sys.stdin.fileno())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    requests = sys.stdin.buffer
    while line := requests.readline(MAX_REQUEST_BYTES):
        request = json.loads(line)
        answer = {**supervisor.answer(request), "nonce": request.get("nonce")}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    supervisor.end()


# --- the child -------------------------------------------------------------------------------------------------------


def run_child(reply: int) -> None:
    """Run code that comes on standard input, in one namespace."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a stopped process would not see that its input ends
    os.dup2(reply, REPLY_NUMBER, inheritable=False)
    if reply != REPLY_NUMBER:
        os.close(reply)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gave_way = False
    while line := requests.readline():
        request = json.loads(line)
        if request["code"] and not gave_way:
            _give_way()
            gave_way = True
        fine = _execute(request["code"], namespace)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os.write(REPLY_NUMBER, b"%s %s\n" % (b"ok" if fine else b"no", request["number"].encode()))


def _give_way() -> None:
    """Leave the processors to others first, once this interpreter has come up; so does what the code starts."""
    with contextlib.suppress(OSError):
        os.nice(CODE_NICE)
        # Where sched(7) groups sessions, these share time evenly, whatever is in them.
        Path("/proc/self/autogroup").write_text(str(CODE_NICE))


def _execute(code: str, namespace: dict[str, Any]) -> bool:
    """Run code; print the value of its last line, or its traceback. Return whether it ended well."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            tree = ast.parse(code, CODE_NAME)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, CODE_NAME, "exec"), namespace)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), CODE_NAME, "eval"), namespace)
                if value is not None:
                    print(repr(value))
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except SystemExit as error:
        return error.code in (None, 0)
    except BaseException as error:  # noqa: BLE001 - whatever the code raises is its author's to read
        with contextlib.suppress(BaseException):
            print(_told(error, code), file=sys.stderr)
        return False
    return True


def _told(error: BaseException, code: str) -> str:
    """Return a traceback that begins in the code and shows its lines."""
    lines = code.splitlines()
    told = ["Traceback (most recent call last):"]
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == __file__:
            continue
        told.append(f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}')
        if frame.filename == CODE_NAME and frame.lineno and frame.lineno <= len(lines):
            told.append(f"    {lines[frame.lineno - 1].strip()}")
    told += [line.rstrip("\n") for line in traceback.format_exception_only(error)]
    return "\n".join(told)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        run_child(int(sys.argv[2]))
    else:
        supervise(alone="--alone" in sys.argv[1:])
