"""The report as a reader has it: one file, offline, in Chromium."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rlfactory.trainer.record.report import ReportLimits, write_report
from rlfactory.trainer.record.runlog import RunLog, StepRecord

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("default::ResourceWarning")]


@pytest.fixture
def page(recorded_run: Path, chromium: Chrome) -> Chrome:
    open_page(chromium, write_report(recorded_run))
    return chromium


def open_page(chromium: Chrome, path: Path) -> None:
    chromium.get_log("browser")
    chromium.get(path.as_uri())
    assert find(chromium, "html").get_attribute("data-ready") == "true"


def find(chromium: Chrome, selector: str) -> WebElement:
    return chromium.find_element("css selector", selector)


def count(chromium: Chrome, selector: str) -> int:
    return len(chromium.find_elements("css selector", selector))


def click(chromium: Chrome, label: str) -> None:
    chromium.execute_script("arguments[0].click()", find(chromium, f'[aria-label="{label}"]'))


def test_page_opens_without_errors_and_asks_for_nothing(page: Chrome) -> None:
    assert page.get_log("browser") == []
    fetched = page.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in fetched if not name.startswith("data:")] == []


def test_headline_and_figures(page: Chrome) -> None:
    assert "42 %" in find(page, "h1").text and "92 %" in find(page, "h1").text
    assert "5 min 12 s" in find(page, ".tiles").text


def test_no_line_is_drawn_where_nothing_was_measured(tmp_path: Path, chromium: Chrome) -> None:
    log = RunLog(tmp_path)
    for step in range(8):
        share = 0.5 + step / 20 if step in (0, 7) else None
        record = StepRecord(step=step, elapsed_s=step, success=0.5 if step else None, eval_success=share)
        log.add_step(replace(record, eval_episodes=120))
    open_page(chromium, write_report(tmp_path))
    accent = '#chart-success svg {}[{}="var(--accent)"]'
    assert count(chromium, accent.format("circle", "fill")) == 2
    assert count(chromium, accent.format("line", "stroke")) == 2, "each point shows its interval"
    assert count(chromium, accent.format("polyline", "stroke")) == 0
    assert count(chromium, accent.format("polygon", "fill")) == 0
    assert count(chromium, "#chart-success svg polyline") == 1, "training was measured at each step"


def test_charts_are_drawn(page: Chrome) -> None:
    for name in ("success", "parts", "reward", "entropy", "kl", "turns", "malformed", "drift"):
        points = find(page, f"#chart-{name} svg polyline").get_attribute("points") or ""
        assert len(points.split()) >= 5
        assert "NaN" not in points
    assert count(page, "#chart-success circle") == 5  # one per evaluation
    assert count(page, "#chart-time rect") >= 20 * 6


def test_cursor_reads_off_values(page: Chrome) -> None:
    script = """
      const svg = document.querySelector('#chart-time svg'), box = svg.getBoundingClientRect();
      svg.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + box.width / 2, clientY: box.top + 20}));
      return document.querySelector('#chart-time .tip').textContent;
    """
    text = page.execute_script(script)
    assert re.search(r"step \d+ · \d+(\.\d)? s", text)
    assert "generate" in text


def test_replay_moves_through_turns_and_episodes(page: Chrome) -> None:
    stage = find(page, "#replay .episode")
    assert (stage.get_attribute("data-episode"), stage.get_attribute("data-turn")) == ("episode-0", "0")
    assert count(page, ".touch-dot") == 1
    click(page, "Next turn")
    assert stage.get_attribute("data-turn") == "1"
    assert count(page, ".phone svg line") == 2  # a swipe: a line with its halo
    click(page, "Next turn")
    assert "total 0.2" in find(page, ".detail").text
    assert not find(page, '[aria-label="Next turn"]').is_enabled()
    click(page, "Next episode")
    assert stage.get_attribute("data-episode") == "episode-1"
    click(page, "Previous episode")
    assert stage.get_attribute("data-episode") == "episode-0"


def test_arrow_keys_move_when_the_replay_is_in_view(page: Chrome) -> None:
    stage = find(page, "#replay .episode")
    page.execute_script("arguments[0].scrollIntoView({behavior: 'instant'})", stage)
    page.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", "key": "ArrowRight"})
    assert stage.get_attribute("data-turn") == "1"


def test_loss_mask_and_markup_in_the_models_text(page: Chrome) -> None:
    assert "<|image_pad|>×3" in find(page, ".tokens .masked").text
    assert find(page, ".tokens .tok").text == "tap <b> 433 160</b>"
    assert count(page, ".tokens b") == 0


def test_malformed_and_dropped_episodes_are_told(page: Chrome) -> None:
    choose = "const box = document.querySelector(arguments[0]); box.value = arguments[1]; box.onchange({target: box});"
    page.execute_script(choose, 'select[aria-label="outcome"]', "dropped")
    assert "closed its socket" in find_end(page)
    page.refresh()
    click_until(page, "episode-6")
    assert "no action found" in find(page, ".detail").text
    assert "1 malformed" in find(page, ".meta").text


def find_end(chromium: Chrome) -> str:
    click(chromium, "The end")
    return find(chromium, ".detail").text


def click_until(chromium: Chrome, episode: str) -> None:
    for _ in range(24):
        if find(chromium, "#replay .episode").get_attribute("data-episode") == episode:
            return
        click(chromium, "Next episode")
    pytest.fail(f"no {episode}")


CUT_OFF = """
  const card = (node) => node.closest('.strip, .tokens, pre, svg, nav') === null;
  return [...document.querySelectorAll('main *')].filter(card)
    .filter((node) => node.getBoundingClientRect().right > innerWidth + 1 && node.getBoundingClientRect().width > 0)
    .map((node) => node.outerHTML.slice(0, 80));
"""


@pytest.mark.parametrize("width_px", [360, 390, 1024, 1920])
@pytest.mark.parametrize("kind", ["recorded_run", "recorded_evaluation"])
def test_each_width_opens_at_the_top_with_nothing_cut_off(
    request: pytest.FixtureRequest, chromium: Chrome, kind: str, width_px: int
) -> None:
    path = write_report(request.getfixturevalue(kind))
    metrics = {"width": width_px, "height": 800, "deviceScaleFactor": 1, "mobile": width_px < 500}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    open_page(chromium, path)
    try:
        assert chromium.execute_script("return window.scrollY") == 0
        assert chromium.execute_script("return document.documentElement.scrollWidth") <= width_px
        assert chromium.execute_script(CUT_OFF) == []
    finally:
        chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_an_evaluation_shows_only_what_was_measured(recorded_evaluation: Path, chromium: Chrome) -> None:
    open_page(chromium, write_report(recorded_evaluation))
    assert chromium.get_log("browser") == []
    assert "Policy\noracle" in find(chromium, "#run").text
    shown = find(chromium, "main").text
    for missing in ("tokens", "Malformed", "Generate", "at step", "What the model wrote", "Dialect"):
        assert missing not in shown
    assert "Observe" in shown
    assert "2/4 50 %" in find(chromium, "#tasks").text
    assert "new templates 1 1 100 %" in find(chromium, "#regimes").text
    assert count(chromium, ".phone img") == 1
    for _ in range(3):
        click(chromium, "Next episode")
    assert count(chromium, ".phone") == 0, "a text-only episode has no phone"


def test_theme_switches(page: Chrome) -> None:
    before = find(page, "html").get_attribute("data-theme")
    click(page, "Switch between light and dark")
    assert find(page, "html").get_attribute("data-theme") != before


def test_a_run_that_was_stopped_early(tmp_path: Path, recorded_run: Path, chromium: Chrome) -> None:
    first = (recorded_run / "metrics.jsonl").read_text().splitlines()[:2]
    (tmp_path / "metrics.jsonl").write_text("\n".join(first) + "\n")
    open_page(chromium, write_report(tmp_path))
    assert chromium.get_log("browser") == []
    assert "No episodes were recorded" in find(chromium, "#replays").text


def test_a_long_run_is_cut_and_says_so(recorded_run: Path, chromium: Chrome) -> None:
    path = write_report(recorded_run, limits=ReportLimits(episodes=8))
    open_page(chromium, path)
    assert "8 of 24 recorded episodes" in find(chromium, "#replays").text
    block = re.search(r'id="data">(.*?)</script>', path.read_text(), re.DOTALL)
    assert block is not None
    assert {row["step"] for row in json.loads(block[1])["episodes"]} == {0, 5, 10, 15}
