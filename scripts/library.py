"""Try RLFactory as a library: each extra resolves, and a user's ten lines are typed: `python scripts/library.py`.

The ten lines are those of docs/library.md; mypy and pyright, both strict, check them against the wheel. Nothing is
installed into this environment.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
CHECKERS = (
    (sys.executable, "-m", "mypy", "--strict", "--no-incremental", "client.py"),
    (sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "client.py"),
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
        Path(folder, "client.py").write_text("# pyright: strict\n" + programs[0])
        environment = {**os.environ, "PYTHONPATH": str(installed)}
        return max(subprocess.run(command, cwd=folder, env=environment, check=False).returncode for command in CHECKERS)


if __name__ == "__main__":
    sys.exit(main())
