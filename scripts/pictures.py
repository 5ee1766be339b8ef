"""Make the pictures of README and docs: `python scripts/pictures.py phones | mixed | curve RUN [--name NAME]`.

`phones` draws screens of a simulated phone; `mixed` an episode with a tool and a phone, played by its oracle; `curve`
takes the success chart out of a run's report, in Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import shutil
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import font_roboto
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from rlfactory.emulators.simulator.phone import Phone, PhoneConfig

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
SCREEN_WIDTH_PX = 320
GAP_PX = 36
BACKGROUND = (236, 239, 244)


def opened(app: str, *taps: str, typed: str = "") -> Callable[[], Image.Image]:
    """Return a maker of the screen that opening an app, tapping these texts and typing leads to."""

    def make() -> Image.Image:
        phone = Phone(PhoneConfig())
        with phone.lock:
            if app:
                phone.shell(f"monkey -p {app} -c android.intent.category.LAUNCHER 1")
            for text in taps:
                node = next(node for node in phone.ui_tree().walk() if text in (node.text, node.description))
                phone.tap(*node.bounds.center)
            if typed:
                phone.type_text(typed)
            return Image.fromarray(phone.rgb())

    return make


SCREENS = (
    opened(""),
    opened("com.android.settings"),
    opened("com.google.android.contacts", "Create contact", "First name", typed="Ada"),
    opened("com.google.android.deskclock", "Timer"),
    opened("net.gsantner.markor"),
)


def phones(target: Path) -> None:
    """Draw screens of a phone."""
    side_by_side([framed(make()) for make in SCREENS], target)


def side_by_side(screens: Sequence[Image.Image], target: Path) -> None:
    """Write pictures of equal height beside each other, each with a shadow."""
    width = sum(screen.width for screen in screens) + GAP_PX * (len(screens) + 1)
    height = screens[0].height + 2 * GAP_PX
    sheet = Image.new("RGB", (width, height), BACKGROUND)
    left = GAP_PX
    for screen in screens:
        shadow = Image.new("L", (screen.width + 60, screen.height + 60), 0)
        ImageDraw.Draw(shadow).rounded_rectangle((30, 30, screen.width + 30, screen.height + 30), 40, fill=90)
        sheet.paste((120, 126, 138), (left - 30, GAP_PX - 20), shadow.filter(ImageFilter.GaussianBlur(14)))
        sheet.paste(screen, (left, GAP_PX), screen)
        left += screen.width + GAP_PX
    sheet.save(target, optimize=True)


def mixed(target: Path) -> None:
    """Draw an episode of the suite `mixed`: what was asked, what the tool said, and what came of it on the phone."""
    goal, said, screens = asyncio.run(played("mixed.trade_to_contact"))
    shown = [framed(screens[index]) for index in (0, -2, -1)]
    side_by_side([conversation(goal, said, shown[0].height), *shown], target)


async def played(task: str) -> tuple[str, list[tuple[str, str]], list[Image.Image]]:
    """Let the oracle play; return the goal, (call, answer) of the tool, and the screens, of which the last differ."""
    from rlfactory.emulators.sources.phones import PhonesConfig, phone_source
    from rlfactory.envs.client import EnvClient
    from rlfactory.envs.client.oracle import play
    from rlfactory.envs.service.server import ServerConfig, serving

    source = phone_source(PhonesConfig(phones=1))
    async with serving(ServerConfig(), phones=source) as server, EnvClient(server.address) as client:
        record = await play(client, task, seed=1)
    pictures = [record.first.image, *(step.result.observation.image for step in record.steps)]
    screens: list[Image.Image] = []
    data = b""
    for picture in pictures:
        assert picture is not None
        if picture.data != data:
            screens.append(Image.open(io.BytesIO(picture.data)).convert("RGB"))
        data = picture.data
    said = [
        (f'search("{call.arguments["query"]}")', result.text.splitlines()[0])
        for step in record.steps
        for call, result in zip(step.calls, step.result.results, strict=True)
        if call.name == "search"
    ]
    return record.goal.partition("\n")[0], said, screens


def conversation(goal: str, said: Sequence[tuple[str, str]], height: int) -> Image.Image:
    """Draw goal, calls and answers as text on a card."""
    size, line = 17, 25
    plain, bold = (ImageFont.truetype(font, size) for font in (font_roboto.Roboto, font_roboto.RobotoMedium))
    card = Image.new("RGBA", (SCREEN_WIDTH_PX + 60, height), (0, 0, 0, 0))
    pen = ImageDraw.Draw(card)
    pen.rounded_rectangle((0, 0, card.width - 1, card.height - 1), 24, fill=(255, 255, 255, 255))
    top = 28
    paragraphs = [(goal, bold, (28, 30, 34))]
    for call, answer in said:
        paragraphs += [(call, bold, (28, 84, 178)), (answer, plain, (74, 80, 90))]
    for text, font, colour in paragraphs:
        for each in textwrap.wrap(text, 40):
            pen.text((26, top), each, font=font, fill=colour)
            top += line
        top += line // 2
    return card


def framed(screen: Image.Image) -> Image.Image:
    """Return a screen scaled down, with round corners and a dark edge."""
    size = (SCREEN_WIDTH_PX, screen.height * SCREEN_WIDTH_PX // screen.width)
    glass = screen.resize(size, Image.Resampling.LANCZOS)
    edge = 7
    scale = 3  # drawn large and scaled down, so that the corners are smooth
    frame = Image.new("RGBA", ((size[0] + 2 * edge) * scale, (size[1] + 2 * edge) * scale), (0, 0, 0, 0))
    pen = ImageDraw.Draw(frame)
    pen.rounded_rectangle((0, 0, frame.width - 1, frame.height - 1), 44 * scale, fill=(17, 18, 20, 255))
    frame = frame.resize((size[0] + 2 * edge, size[1] + 2 * edge), Image.Resampling.LANCZOS)
    mask = Image.new("L", (size[0] * scale, size[1] * scale), 0)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, size[0] * scale, size[1] * scale), 38 * scale, fill=255)
    frame.paste(glass, (edge, edge), mask.resize(size, Image.Resampling.LANCZOS))
    return frame


def curve(run: Path, target: Path) -> None:
    """Take the success chart out of a run's report, as a picture of twice the density."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    from rlfactory.trainer.record.report import write_report

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for flag in ("headless", "no-sandbox", "disable-gpu", "no-first-run", "hide-scrollbars", "disable-sync"):
        options.add_argument(f"--{flag}")
    options.add_argument("--disable-background-networking")
    options.add_argument("--disable-component-update")
    with tempfile.TemporaryDirectory() as profile:
        options.add_argument(f"--user-data-dir={profile}")
        window = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or "chromedriver"))
        try:
            metrics = {"width": 900, "height": 700, "deviceScaleFactor": 2, "mobile": False}
            window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            window.get(write_report(run).resolve().as_uri())
            box = window.execute_script(
                "const b = document.querySelector('#chart-success').closest('figure').getBoundingClientRect();"
                "return {x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height, scale: 1};"
            )
            shot = window.execute_cdp_cmd(
                "Page.captureScreenshot", {"format": "png", "clip": box, "captureBeyondViewport": True}
            )
        finally:
            window.quit()
    target.write_bytes(base64.b64decode(shot["data"]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python scripts/pictures.py", description="Make the README's pictures.")
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("phones")
    commands.add_parser("mixed")
    chart = commands.add_parser("curve")
    chart.add_argument("run", type=Path)
    chart.add_argument("--name", default="learning_curve", help="of the picture in docs/images")
    arguments = parser.parse_args()
    IMAGES.mkdir(parents=True, exist_ok=True)
    if arguments.what == "phones":
        phones(IMAGES / "phone.png")
    elif arguments.what == "mixed":
        mixed(IMAGES / "mixed.png")
    else:
        curve(arguments.run, IMAGES / f"{arguments.name}.png")


if __name__ == "__main__":
    main()
