"""How Markdown looks: headings, lists, quotes, rules; emphasis is shown plain."""

from __future__ import annotations

import re

from rlfactory.emulators.simulator.view import widgets as ui

_HEADINGS = ("headline_medium", "headline_small", "title_large", "title_medium", "title_small", "label_large")
_EMPHASIS = re.compile(r"(\*\*|__|`|~~)(.+?)\1|(?<!\w)[*_](\S.*?)[*_](?!\w)")
_MARKED = re.compile(
    r"(?P<level>#{1,6})\s+(?P<heading>.*)|[-*+]\s+\[(?P<done>[ xX])\]\s+(?P<task>.*)"
    r"|(?P<sign>[-*+]|\d+[.)])\s+(?P<item>.*)|>\s?(?P<quote>.*)"
)


def rendered(text: str) -> ui.Widget:
    """Return the text with headings, lists, quotes and rules as Markdown means them."""
    lines = tuple(_line(line.strip()) for line in text.split("\n"))
    return ui.Scroll(
        key="document__fragment_view_webview", children=lines, gap=4, padding=(20, 8, 20, 24), height="fill"
    )


def _line(line: str) -> ui.Widget:
    rule = len(line) >= 3 and set(line) in ({"-"}, {"*"}, {"_"})
    if rule or not line:
        return ui.Divider() if rule else ui.Spacer(height=8)
    marked = _MARKED.fullmatch(line)
    if marked is None:
        return ui.Text(text=_plain(line))
    part = marked.groupdict(default="")
    if part["level"]:
        return ui.Text(text=_plain(part["heading"]), style=_HEADINGS[len(part["level"]) - 1], padding=(0, 8, 0, 4))
    if part["done"]:
        return _bulleted(ui.Checkbox(checked=part["done"] != " ", enabled=False), part["task"])
    if part["sign"]:
        sign = part["sign"] if part["sign"][0].isdigit() else "\u2022"
        return _bulleted(ui.Text(text=sign, width=24, text_align="center"), part["item"])
    return ui.Text(text=_plain(part["quote"]), color="on_surface_variant", padding=(20, 4, 0, 4))


def _bulleted(sign: ui.Widget, text: str) -> ui.Widget:
    return ui.Row(children=(sign, ui.Text(text=_plain(text), weight=1)), gap=4, width="fill")


def _plain(text: str) -> str:
    return _EMPHASIS.sub(lambda match: match[2] or match[3], text)
