"""The command line of `rlfactory.envs.conformance.checks`: examine a running server."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path

from rlfactory.envs.api.errors import RLFactoryError
from rlfactory.envs.client import EnvClient
from rlfactory.envs.conformance.checks import NotConforming, Target, examine, expect
from rlfactory.envs.wire.trust import ClientTrust
from rlfactory.envs.wire.trust_options import ClientTrustFiles


async def conform(address: str, task: str, *, trust: ClientTrust | None = None, as_json: bool) -> int:
    """Examine a server, print the findings, and return the exit code: 0 if it conforms."""
    async with EnvClient(address, trust=trust) as client:
        if not task:
            task = next((info.name for info in await client.list_tasks() if "phone" in info.tools), "")
            expect(bool(task), "the server offers no task with a phone: name one with --task")
        findings = await examine(Target(client=client, task=task))
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            print(
                f"{'ok  ' if not finding.problem else 'FAIL'} {finding.name} ({finding.wall_s:.2f} s) {finding.problem}"
            )
    return 1 if any(finding.problem for finding in findings) else 0


def main() -> int:
    """Examine a server and return the exit code: 0 if it conforms."""
    parser = argparse.ArgumentParser(
        prog="python -m rlfactory.envs.conformance", description="Examine an environment server."
    )
    parser.add_argument("address", help="host:port")
    parser.add_argument("--task", default="", help="the phone task to play (default: the first one offered)")
    parser.add_argument("--json", action="store_true", help="print a JSON array")
    parser.add_argument("--token-file", type=Path, help="the token that the server wants")
    parser.add_argument("--tls-ca", type=Path, help="speak TLS to a server certified by this authority")
    arguments = parser.parse_args()
    try:
        trust = ClientTrustFiles(token_file=arguments.token_file, ca=arguments.tls_ca).load()
        return asyncio.run(conform(arguments.address, arguments.task, trust=trust, as_json=arguments.json))
    except (NotConforming, RLFactoryError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
