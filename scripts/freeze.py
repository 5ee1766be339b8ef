"""Print constraints.txt: the exact version of every package here, without any address."""

from importlib import metadata

HEADER = (
    "# Exact versions for a reproducible set-up, made by `make constraints`. Names and versions only, no addresses."
)
OURS = {"rlfactory", "pip", "setuptools", "wheel"}


def main() -> None:
    found = {item.metadata["Name"]: item.version for item in metadata.distributions()}
    names = sorted((name for name in found if name.lower() not in OURS), key=str.lower)
    print("\n".join([HEADER, *(f"{name}=={found[name]}" for name in names)]))


if __name__ == "__main__":
    main()
