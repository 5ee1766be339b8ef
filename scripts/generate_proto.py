"""Generate the Python code of the wire from proto/ into envs/v1/, or check that what is committed is in sync."""

import argparse
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "envs/v1/env.proto"
GENERATED = ("env_pb2.py", "env_pb2.pyi", "env_pb2_grpc.py")


def main() -> int:
    parser = argparse.ArgumentParser(description="Generate envs/v1 from proto/envs/v1/env.proto.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail when the committed code is stale")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        fresh = {name: Path(folder, "envs/v1", name).read_bytes() for name in GENERATED}
    target = ROOT / "envs/v1"
    stale = [name for name in GENERATED if not (target / name).exists() or (target / name).read_bytes() != fresh[name]]
    if arguments.check:
        if stale:
            print(f"error: envs/v1 is stale ({', '.join(stale)}): run make proto", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (target / name).write_bytes(fresh[name])
    print(f"envs/v1: {len(stale)} of {len(GENERATED)} files changed")
    return 0


def generate(folder: Path) -> None:
    """Run the compiler with the Python, typing and gRPC outputs in `folder`."""
    outputs = [f"--{kind}={folder}" for kind in ("python_out", "pyi_out", "grpc_python_out")]
    status = protoc.main(["protoc", f"-I{ROOT / 'proto'}", *outputs, SOURCE])
    if status:
        raise SystemExit(f"error: protoc ended with exit code {status}")


if __name__ == "__main__":
    sys.exit(main())
