"""Generate the Python code of the protocols in proto/, or check that what is committed is in sync."""

import argparse
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
SOURCES = {
    "envs/v1/env.proto": "envs/wire/v1",
    "emulators/controller/emulator_controller.proto": "emulators/device/controller",
    "emulators/controller/accessibility.proto": "emulators/device/controller",
}
"""Each protocol, and the folder of its Python code."""
ENDINGS = ("_pb2.py", "_pb2.pyi")
"""Stubs are made from the descriptions in these: see `envs/wire/stub.py`."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Generate the Python code of proto/.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail when the committed code is stale")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        fresh = {
            f"{home}/{Path(source).stem}{ending}": Path(folder, source.removesuffix(".proto") + ending).read_bytes()
            for source, home in SOURCES.items()
            for ending in ENDINGS
        }
    generated = list(fresh)
    stale = [name for name in generated if not (ROOT / name).exists() or (ROOT / name).read_bytes() != fresh[name]]
    if arguments.check:
        if stale:
            print(f"error: stale generated code ({', '.join(stale)}): run make proto", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (ROOT / name).write_bytes(fresh[name])
    print(f"{len(stale)} of {len(generated)} generated files changed")
    return 0


def generate(folder: Path) -> None:
    """Run the compiler with the Python and typing outputs in `folder`."""
    outputs = [f"--{kind}={folder}" for kind in ("python_out", "pyi_out")]
    for source in SOURCES:
        status = protoc.main(["protoc", f"-I{ROOT / 'proto'}", f"-I{_well_known()}", *outputs, source])
        if status:
            raise SystemExit(f"error: protoc ended with exit code {status}")


def _well_known() -> Path:
    """Where grpc_tools keeps google/protobuf/*.proto."""
    return Path(protoc.__file__).parent / "_proto"


if __name__ == "__main__":
    sys.exit(main())
