"""Try RLFactory as a library: each extra resolves, and users' code is typed: `python scripts/library.py`.

mypy and pyright, both strict, check against the wheel the ten lines of docs/library.md and the project that
`rlfactory init` makes. Nothing is installed into this environment.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
CHECKERS = (
    (sys.executable, "-m", "mypy", "--strict", "--no-incremental", "."),
    (sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "."),
)


def main() -> int:
    """Return the exit code: 0 if every extra resolves and both checkers find nothing."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in extras:
        pins = ROOT / ("constraints-gpu.txt" if extra == "gpu" else "constraints.txt")
        subprocess.run((*PIP, "--dry-run", "-c", pins, f"{ROOT}[{extra}]"), check=True)
    programs = re.findall(r"^```python\n# client\.py\n(.*?)^```", (ROOT / "docs/library.md").read_text(), re.S | re.M)
    with tempfile.TemporaryDirectory(prefix="rlfactory-library-") as folder:
        installed = Path(folder, "installed")
        subprocess.run((*PIP, "--no-deps", "--target", installed, ROOT), check=True)
        project = Path(folder, "project")
        shutil.copytree(ROOT / "rlfactory/starter", project)
        Path(project, "client.py").write_text(programs[0])
        Path(project, "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
        environment = {**os.environ, "PYTHONPATH": str(installed)}
        return max(
            subprocess.run(command, cwd=project, env=environment, check=False).returncode for command in CHECKERS
        )


if __name__ == "__main__":
    sys.exit(main())
