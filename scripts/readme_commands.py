"""Print the commands of the README, one a line: those in its ```bash blocks, as CI runs them.

A block that starts with a comment `# not in CI: REASON` is left out: what needs hardware or a host of one's own.
"""

import re
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def commands(text: str) -> list[str]:
    """Return the commands of a README; a line that ends in a backslash goes on in the next one."""
    found: list[str] = []
    for block in re.findall(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if block.startswith("# not in CI:"):
            continue
        lines = block.replace("\\\n", " ").splitlines()
        found += [re.sub(r"\s+#.*$", "", line).strip() for line in lines if line.strip() and not line.startswith("#")]
    return found


if __name__ == "__main__":
    print("\n".join(commands(README.read_text(encoding="utf-8"))))
