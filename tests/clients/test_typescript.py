"""Others can speak the protocol: a TypeScript client, made from it, plays on a real service."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from asyncio.subprocess import PIPE, STDOUT
from os import environ
from pathlib import Path

import pytest

from rlfactory.emulators.sources.phones import PhonesConfig, phone_source
from rlfactory.envs.service.server import ServerConfig, serving
from rlfactory.envs.wire.trust import ServerTrust
from tests.commands import ROOT

CLIENT = ROOT / "clients/typescript"
TOKEN = "a-token-of-some-length"
pytestmark = pytest.mark.typescript


@pytest.fixture(autouse=True)
def built() -> None:
    if not (CLIENT / "dist/test").is_dir():
        pytest.skip("needs the TypeScript client: npm install && npm run build in clients/typescript")


async def test_a_typescript_client_plays_and_is_told_what_failed():
    phones = PhonesConfig(phones=1, width_px=540, height_px=1200)
    config = ServerConfig(drain_s=0.5, trust=ServerTrust(tokens=(TOKEN,)))
    async with serving(config, phones=phone_source(phones)) as server:
        variables = {**environ, "RLFACTORY_ADDRESS": server.address, "RLFACTORY_TOKEN": TOKEN}
        process = await asyncio.create_subprocess_exec(
            "npm", "test", "--silent", cwd=CLIENT, env=variables, stdout=PIPE, stderr=STDOUT
        )
        said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    assert re.search(r"pass 4$", said.decode(), re.MULTILINE)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("uint64 seq = 2;", "uint32 seq = 2;", "changed type"),
        ("bytes data = 1;", "reserved 1;", "deleted"),
        ("rpc Renew(", "rpc renew(", "PascalCase"),
    ],
)
def test_a_change_that_breaks_clients_is_refused(tmp_path: Path, old: str, new: str, words: str):
    for name in ("proto", "scripts/buf.sh", "buf.yaml", "clients/typescript/package.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    protocol = tmp_path / "proto/envs/v1/env.proto"
    assert old in protocol.read_text()
    protocol.write_text(protocol.read_text().replace(old, new))
    done = subprocess.run([tmp_path / "scripts/buf.sh"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert words in done.stdout + done.stderr


def test_without_npm_it_is_said_what_was_left_out(tmp_path: Path):
    for program in ("bash", "dirname"):
        (tmp_path / program).symlink_to(shutil.which(program) or "")
    command = [ROOT / "scripts/buf.sh"]
    at_home = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (at_home.returncode, at_home.stdout) == (0, "")
    assert "left out: buf lint and buf breaking" in at_home.stderr
    in_ci = subprocess.run(
        command, env={"PATH": str(tmp_path), "RLFACTORY_REQUIRE": "x"}, capture_output=True, text=True, check=False
    )
    assert in_ci.returncode == 1
