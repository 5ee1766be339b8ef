"""An installed package offers a tool and an app of the phone by entry points."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from rlfactory.emulators.device.errors import DeviceError
from rlfactory.emulators.device.ui import to_xml
from rlfactory.emulators.simulator.apps.installed import ALL_APPS, apps_of_new_phones
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.emulators.simulator.wire.host import PhoneHost, answer
from rlfactory.emulators.sources.direct import DirectDevice
from rlfactory.emulators.sources.phones import PhonesConfig, phone_source
from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.tools.registry import offered_tools

PACKAGE = """
from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.view import widgets as ui
from rlfactory.envs.tools.calculator import CalculatorTool

class Main(Activity):
    name = ".Main"

    def build(self, system):
        return ui.Scaffold(app_bar=ui.AppBar(title="Mine"), body=ui.Text(text="Made by me"))

APP = App(package="org.example.mine", label="Mine", icon="heart", color="#C62828", activities=(Main,))
"""


def install(folder: Path, name: str, points: str, code: str = PACKAGE) -> None:
    (folder / f"{name}.py").write_text(code)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_tools_and_apps_of_a_package_are_offered(site: Path) -> None:
    install(
        site,
        "mine_of_1",
        "[rlfactory.tools]\nsums = mine_of_1:CalculatorTool\n[rlfactory.apps]\nmine = mine_of_1:APP\n",
    )
    assert {"phone", "finish", "sums"} <= set(offered_tools())
    apps = apps_of_new_phones.__wrapped__()
    assert [app.label for app in apps[len(ALL_APPS) :]] == ["Mine"]
    phone = Phone(PhoneConfig(width_px=480, height_px=800), apps=apps)
    phone.shell("am start -n org.example.mine/.Main")
    assert "Made by me" in to_xml(phone.ui_tree())


def test_what_a_package_gets_wrong_is_told(site: Path) -> None:
    install(
        site, "mine_of_2", "[rlfactory.tools]\nphone = mine_of_2:CalculatorTool\n[rlfactory.apps]\nx = mine_of_2:Main\n"
    )
    with pytest.raises(TaskError, match=r"entry point rlfactory\.tools: .*'phone'"):
        offered_tools()
    with pytest.raises(DeviceError, match=r"entry point rlfactory\.apps: x is no App"):
        apps_of_new_phones.__wrapped__()


async def test_apps_of_a_file_are_on_the_phones_of_a_service_and_of_its_hosts(site: Path) -> None:
    (site / "words.py").write_text('TITLE = "Made by a neighbour"\n')
    imports = "from rlfactory.emulators.simulator.apps.clock.app import CLOCK\nfrom words import TITLE\n"
    (site / "own_app.py").write_text(imports + PACKAGE.replace('"Made by me"', "TITLE"))
    config = PhonesConfig(width_px=270, height_px=600, app_files=(site / "own_app.py",))
    source = phone_source(config)
    phone = await source.start()
    assert isinstance(phone, DirectDevice)
    await phone.shell("am start -n org.example.mine/.Main", timeout_s=20)
    assert "Made by a neighbour" in to_xml(phone.phone.ui_tree())
    host = PhoneHost()
    request = {"id": 1, "start": json.loads(json.dumps(asdict(phone.phone.config)))}
    assert "serial" in await answer(host, request)
    request["start"]["app_files"] = [str(site / "none.py")]
    assert "there is no such file" in (await answer(host, request))["error"]
    await host.close()
    await source.stop(phone)
    await source.close()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("x = 1\n", r"own\.py defines no app"),
        ("x = 1 / 0\n", r"own\.py:1: ZeroDivisionError"),
        (
            PACKAGE.replace("org.example.mine", "net.gsantner.markor"),
            r"own\.py: Mine: another app has the package",
        ),
    ],
)
def test_what_a_file_of_apps_gets_wrong_is_told(code: str, told: str, site: Path) -> None:
    (site / "own.py").write_text(code)
    with pytest.raises(DeviceError, match=told):
        phone_source(PhonesConfig(app_files=(site / "own.py",)))
