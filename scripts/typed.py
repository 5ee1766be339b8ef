"""Check a user's ten lines against the wheel, by mypy and pyright, both strict: `python scripts/typed.py`.

The program is the one of docs/library.md. Nothing is installed into this environment.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
CHECKERS = (
    (sys.executable, "-m", "mypy", "--strict", "--no-incremental", "client.py"),
    (sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "client.py"),
)


def main() -> int:
    """Return the exit code: 0 if both checkers find nothing."""
    programs = re.findall(r"^```python\n# client\.py\n(.*?)^```", (ROOT / "docs/library.md").read_text(), re.S | re.M)
    with tempfile.TemporaryDirectory(prefix="rlfactory-typed-") as folder:
        installed = Path(folder, "installed")
        subprocess.run((*PIP, "install", "--no-deps", "--target", installed, ROOT), check=True)
        Path(folder, "client.py").write_text("# pyright: strict\n" + programs[0])
        environment = {**os.environ, "PYTHONPATH": str(installed)}
        return max(subprocess.run(command, cwd=folder, env=environment, check=False).returncode for command in CHECKERS)


if __name__ == "__main__":
    sys.exit(main())
