"""disturb: what happens to a phone while somebody uses it. No command of Android's; only simulated phones have it.

disturb show '{"kind": "dialog", "package": "android", "title": "Clock isn't responding", "buttons": ["Wait"]}'
disturb loading splash|two_steps MILLISECONDS
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from rlfactory.emulators.simulator.machine.state import Interruption
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError

table = CommandTable()
BANNER_MS: Final = 6_000
"""How long a banner covers the top of the screen."""
NOTE: Final = 900
"""Number of the notification that a banner leaves in the shade."""


@table.command("disturb")
def _disturb(context: Context) -> None:
    view, now_ms = context.state.view, context.state.clock.uptime_ms()
    match context.args:
        case ["show", text]:
            shown = _interruption(text)
            if shown.kind == "banner":
                shown = replace(shown, until_ms=now_ms + BANNER_MS)
                about = {"title": shown.title, "text": shown.text, "icon": "message-text"}
                context.phone.system.notify(shown.package, NOTE, **about)
            elif shown.kind == "call":
                context.state.call_state = 1
            elif shown.kind == "storage":
                context.state.files.storage_full = True
            going = tuple(each for each in view.interruptions if not each.until_ms or each.until_ms > now_ms)
            view.interruptions = (*going, shown)
        case ["loading", ("splash" | "two_steps") as kind, text] if text.isdecimal():
            view.loading, view.loading_ms = kind, int(text)
        case _:
            raise UsageError("usage: disturb show JSON | disturb loading splash|two_steps MILLISECONDS")
    context.phone.invalidate()


def _interruption(text: str) -> Interruption:
    try:
        given = json.loads(text)
        return Interruption(**given | {"buttons": tuple(given.get("buttons", ("OK",)))})
    except (ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"no window: {error}") from None
