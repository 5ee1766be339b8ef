"""Tasks of a user's own, as a file of them. What goes wrong as they are drawn is said in the folder DRAWING_EXAMPLE."""

import os
import signal
import time
from pathlib import Path

from rlfactory.envs.tasks.task import Task

FOLDER = Path(os.environ.get("DRAWING_EXAMPLE", "."))


class Quick(Task):
    name = "own.quick"
    description = "Quickly drawn"

    def __init__(self, number):
        self.number, self.pid = number, os.getpid()

    @classmethod
    def sample(cls, rng, split):
        return cls(rng.randrange(1000))

    @property
    def goal(self):
        return f"Say {self.number}."

    def checks(self, outcome):
        return ()

    async def solve(self, ui):
        return


class Slow(Quick):
    name = "own.slow"

    @classmethod
    def sample(cls, rng, split):
        end_s = time.thread_time() + 0.02
        while time.thread_time() < end_s:
            pass
        print("what a task prints is no answer")
        return super().sample(rng, split)


class Bound(Slow):
    """Does not travel."""

    name = "own.bound"

    def __init__(self, number):
        super().__init__(number)
        self.here = lambda: number


class Broken(Slow):
    name = "own.broken"

    @classmethod
    def sample(cls, rng, split):
        drawn = super().sample(rng, split)
        match FOLDER.joinpath("what").read_text():
            case "raises":
                raise KeyError("oops")
            case "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hangs":
                time.sleep(60)
        return drawn
