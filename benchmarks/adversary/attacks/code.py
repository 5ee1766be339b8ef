"""What code of a model can do, as a plain process of this machine (`--unsafe-local`): nothing here harms it.

What containers have to hold is tested where there is Docker: `tests/docker/test_sandbox.py`.
"""

from __future__ import annotations

import asyncio
import time

from benchmarks.adversary.arena import TEXT, Arena, text_of
from benchmarks.adversary.attack import attack, require
from rlfactory.envs.client import Session
from rlfactory.envs.sandbox.config import SandboxConfig
from rlfactory.envs.service.limits import share

TASK = "math_code.count"
PART = share(SandboxConfig().max_open, 2)
"""Of the sandboxes, that one of two tenants may have."""


async def _works(session: Session) -> None:
    said = await text_of(session, "python", code="print(6 * 7)")
    require(said == "ok: 42", f"the next call gave {said[:100]}")


async def _code(arena: Arena, *codes: str) -> list[str]:
    """Run pieces of code one after the other; what each said. Raises: Broke: the next call does not work."""
    async with arena.session(TASK) as session:
        said = [await text_of(session, "python", code=code) for code in codes]
        await _works(session)
        return said


@attack("text, or the code's own error; nothing is void")
async def half_characters(arena: Arena) -> str:
    """Print, return and raise lone surrogates."""
    said = await _code(
        arena, "print('\\ud800')", "'\\udfff'", "raise ValueError('\\ud800')",
        "import sys; sys.stdout.buffer.write(b'\\xed\\xa0\\x80\\xff'); sys.stdout.flush()",
    )  # fmt: skip
    require(all(each.startswith(("ok", "error")) for each in said), f"{said}")
    return "each came back as text"


@attack("the call ends when its code does")
async def forged_ends(arena: Arena) -> str:
    """Write the ends of this call and of the next ten ahead, on every descriptor; then run slow code."""
    forge = (
        "import os\nfor fd in range(1, 12):\n    for n in range(1, 12):\n        for word in (b'ok', b'no'):\n"
        "            try:\n                os.write(fd, b'%s %d\\n' % (word, n))\n            except OSError:\n"
        "                pass"
    )
    async with arena.session(TASK) as session:
        await text_of(session, "python", code=forge)
        said = await text_of(session, "python", code="import time; time.sleep(0.4); print('late' + 'comer')")
        require("latecomer" in said, f"slow code gave {said[:100]!r}")
        await _works(session)
    return "the slow call was waited for"


@attack("the output of one call only")
async def forged_while_running(arena: Arena) -> str:
    """Leave a thread behind that keeps writing ends of calls; then run slow code."""
    forge = (
        "import os, threading, time\ndef flood():\n    end = time.time() + 2\n    while time.time() < end:\n"
        "        for n in range(1, 9):\n            try:\n                os.write(3, b'ok %d\\n' % n)\n"
        "            except OSError:\n                return\n        time.sleep(0.01)\n"
        "threading.Thread(target=flood, daemon=True).start()"
    )
    async with arena.session(TASK) as session:
        await text_of(session, "python", code=forge)
        said = await text_of(session, "python", code="import time; time.sleep(0.4); print('late' + 'comer')")
        require("latecomer" in said, f"slow code gave {said[:100]!r}")
        await asyncio.sleep(2.0)
        await _works(session)
    return "the slow call was waited for"


@attack("head and tail, and the next call works")
async def flood_of_output(arena: Arena) -> str:
    """Print 40 MB."""
    (said,) = await _code(arena, "for _ in range(400): print('y' * 100_000)")
    require(len(said) < 64_000, f"{len(said)} characters came back")
    return f"{len(said)} characters came back"


@attack("an error of the code; the next call works")
async def ends_itself(arena: Arena) -> str:
    """Leave by every door: _exit, SIGKILL, closed descriptors, a cleared world, endless recursion."""
    said = await _code(
        arena, "import os; os._exit(3)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import os\nos.closerange(0, 64)", "import builtins; vars(builtins).clear()",
        "def f(): return f()\nf()", "(" * 5000 + ")" * 5000,
    )  # fmt: skip
    require(all(each.startswith(("ok", "error", "timeout")) for each in said), f"{said}")
    return "each cost its variables at most"


@attack("stopped after its time; the next call works", limit_s=40)
async def will_not_stop(arena: Arena) -> str:
    """Loop, and swallow every interrupt."""
    begun_s = time.monotonic()
    code = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    (said,) = await _code(arena, code)
    require(said.startswith("timeout"), said[:100])
    return f"stopped after {time.monotonic() - begun_s:.1f} s"


@attack("each waits for its turn; none is void", limit_s=120)
async def too_many_sandboxes(arena: Arena) -> str:
    """Open 80 sessions that run code, where 64 may have a sandbox at the same time, and a tenant 48 of these."""
    async with arena.client() as client:
        answered: list[str] = []

        async def play(seed: int) -> str:
            async with client.session(TASK, seed=seed, options=TEXT) as session:
                said = await text_of(session, "python", code="print(1)")
                answered.append(said)
                while len(answered) < PART:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
                await asyncio.sleep(0.5)
                return said

        said = await asyncio.gather(*(play(seed) for seed in range(80)), return_exceptions=True)
    wrong = [str(each) for each in said if each != "ok: 1"]
    require(not wrong, f"{len(wrong)} of 80 failed: {wrong[0][:100] if wrong else ''}")
    return "80 of 80 ran"
