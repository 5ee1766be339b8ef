"""A recorded run to look at, and a browser to look with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.recorded import record_evaluation, record_run

if TYPE_CHECKING:
    from selenium.webdriver import Chrome


@pytest.fixture(scope="session")
def recorded_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_run(tmp_path_factory.mktemp("runs") / "recorded")


@pytest.fixture(scope="session")
def recorded_evaluation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record_evaluation(tmp_path_factory.mktemp("runs") / "evaluation")


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Headless Chromium without a network of its own."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "hide-scrollbars"):
        options.add_argument(f"--{flag}")
    for flag in ("disable-background-networking", "disable-component-update", "disable-sync"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    window = webdriver.Chrome(options=options, service=Service(driver))
    window.execute_cdp_cmd("Network.enable", {})
    window.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
    )
    yield window
    window.quit()
