"""The front door: one command line that mounts phones (emulators), sessions (envs) and training (trainer).

Each package keeps its commands in `cli.py` as `app: typer.Typer`, and imports what is heavy inside the commands, so
that `rlfactory --help` and `rlfactory tasks` answer at once and need neither torch nor Ray.

What a user did wrong, and what the machine refused, is told in one line on stderr. Exit codes: 2 for a mistake in the
command line or a name that does not exist, 1 for everything else that failed, 130 after Ctrl-C.
"""

from __future__ import annotations

import errno
import importlib
import os
import shutil
import sys
import traceback
from collections.abc import Sequence
from importlib import metadata
from keyword import iskeyword
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.envs.api.errors import RLFactoryError, TaskError
from rlfactory.processes.errors import ProcessError

MOUNTS = (
    "rlfactory.envs.cli",
    "rlfactory.envs.tools.search.cli",
    "rlfactory.envs.adapters.cli",
    "rlfactory.trainer.cli",
    "rlfactory.emulators.cli",
    "rlfactory.processes.docker.cli",
)
DEBUG_VARIABLE = "RLFACTORY_DEBUG"
"""Set to 1, it shows the traceback behind a one-line error."""

SYSTEM_ERRORS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EADDRINUSE: "the address is in use",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOTDIR: "a file is where a folder should be",
    errno.EISDIR: "a folder is where a file should be",
    errno.EROFS: "the file system is read-only",
    errno.ENOENT: "no such file",
    errno.EEXIST: "there is such a file or folder already",
    errno.EMFILE: "too many open files (see ulimit -n)",
}


def print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"rlfactory {metadata.version('rlfactory')}")
        raise typer.Exit


def root(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Train vision-language agents that operate Android phones and call tools."""


def init(name: Annotated[Path, typer.Argument(help="The folder to make.")]) -> None:
    """Make a project of one's own: tasks, a tool, a dialect, a recipe, tests."""
    if name.exists():
        raise TaskError(f"{name} exists; choose another name")
    shutil.copytree(Path(__file__).parent / "starter", name, ignore=shutil.ignore_patterns("__pycache__"))
    print(f"made {name}; go on with: cd {name} && pytest && rlfactory train ./recipe.yaml")


def new_app(name: Annotated[str, typer.Argument(help="Of the app, in lower case: also the folder's.")]) -> None:
    """Make an app for simulated phones: a list, a form, a database, a provider, two tasks, tests."""
    if not name.isidentifier() or not name.islower() or iskeyword(name):
        raise TaskError(f"{name!r} is no name of a Python package in lower case, as 'shelf' is")
    if Path(name).exists():
        raise TaskError(f"{name} exists; choose another name")
    model = Path(__file__).parent / "starter_app"
    for source in sorted(path for path in model.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        target = Path(name, str(source.relative_to(model)).replace("shelf", name))
        target.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text("utf-8").replace("shelf", name).replace("Shelf", name.capitalize())
        target.write_text(text.replace(f'"book{name}"', '"bookshelf"'), "utf-8")
    print(f"made {name}; go on with: cd {name} && pip install -e . && pytest")


def build_app() -> typer.Typer:
    """Return the command line with the commands of the three packages."""
    app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
    app.callback()(root)
    app.command()(init)
    app.command()(new_app)
    for module in MOUNTS:
        app.add_typer(importlib.import_module(module).app)
    return app


def run(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line (None: that of the process) and return its exit code."""
    try:
        return build_app()(args=arguments, prog_name="rlfactory", standalone_mode=False) or 0
    except TyperException as error:
        return complain(error.format_message(), error.exit_code)
    except Abort:
        return complain("stopped", 130)
    except (RLFactoryError, DeviceError, ProcessError, ModuleNotFoundError) as error:
        message = missing_extra(error) if isinstance(error, ModuleNotFoundError) else str(error)
        return complain(message, 2 if isinstance(error, TaskError | ModuleNotFoundError) else 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter's flush at exit complains
        return 1
    except OSError as error:
        if error.errno not in SYSTEM_ERRORS:
            raise
        return complain(describe_system_error(error), 1)


def missing_extra(error: ModuleNotFoundError) -> str:
    """Say that a package of an extra is missing. Raises: the error itself, if what is missing is ours."""
    if error.name is None or error.name.startswith("rlfactory"):
        raise error
    return f"this needs {error.name}, of an extra that is not installed: rlfactory[train,tools]"


def describe_system_error(error: OSError) -> str:
    where = f": {error.filename}" if error.filename else ""
    return f"{SYSTEM_ERRORS[error.errno or 0]}{where}"


def complain(message: str, exit_code: int) -> int:
    """Say in one line what is wrong; an empty message (the help was shown instead) says nothing."""
    if os.environ.get(DEBUG_VARIABLE) == "1":
        traceback.print_exc()
    line = " ".join(message.split())
    if line:
        prefix = "\033[1;31merror:\033[0m" if sys.stderr.isatty() else "error:"
        print(f"{prefix} {line}", file=sys.stderr)
    return exit_code


def main() -> None:
    """Run the command line and end the process with its exit code."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what goes wrong is told by us, in one line
    sys.exit(run())


if __name__ == "__main__":
    main()
