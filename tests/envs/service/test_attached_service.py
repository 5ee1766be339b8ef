"""A service on phones that run already."""

from __future__ import annotations

import pytest

from rlfactory.emulators.pool import PoolConfig
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.hosted import ProcessSource
from rlfactory.emulators.sources.kinds import SourceKind
from rlfactory.emulators.sources.phones import PhonesConfig, discovery_folders, phone_source
from rlfactory.envs.client import EnvClient
from rlfactory.envs.service.server import ServerConfig, serving


async def test_an_episode_on_an_attached_phone():
    owner = ProcessSource(PhoneConfig(width_px=540, height_px=1200))
    phone = await owner.start()
    assert owner._adb is not None
    config = PhonesConfig(
        kind=SourceKind.ATTACHED, phones=1, spares=0, serials=(phone.info.serial,), adb_port=owner._adb.port
    )
    async with (
        serving(ServerConfig(drain_s=0.2), phones=phone_source(config), pool=PoolConfig(phones=1)) as server,
        EnvClient(server.address) as client,
    ):
        hashes = set()
        for _ in range(2):
            async with client.session("settings.wifi_on", seed=3) as session:
                assert session.observation.image is not None
                hashes.add(session.observation.image.digest)
        assert len(hashes) == 1
        assert [each.serial for each in (await client.status()).phones] == [phone.info.serial]
    assert (await phone.shell("echo it runs on", timeout_s=10)).stdout == "it runs on\n"
    await owner.stop(phone)
    await owner.close()


@pytest.mark.parametrize("options", [{"kind": SourceKind.ATTACHED}, {"serials": ("emulator-5554",)}])
def test_serials_and_the_transport_go_together(options):
    with pytest.raises(ValueError, match="go together"):
        PhonesConfig(**options)


def test_emulators_tell_of_themselves_in_the_users_folders():
    folders = [str(folder) for folder in discovery_folders({"XDG_RUNTIME_DIR": "/run/user/7"})]
    assert folders[0] == "/run/user/7/avd/running"
    assert folders[-1].endswith("/.android/avd/running")
    assert len(discovery_folders({})) == 1
