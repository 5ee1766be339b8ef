"""Which installed app a name means, and the shell command that opens it as the launcher would. Pure."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from rlfactory.emulators.device.errors import ActionRejected


@dataclass(frozen=True, kw_only=True, slots=True)
class LaunchableApp:
    package: str
    component: str
    """`package/class` of its launcher activity."""
    label: str
    """What stands under its icon; "" when the phone does not tell."""


def find_app(name: str, apps: Iterable[LaunchableApp]) -> LaunchableApp:
    """Return the app of this package or label (case-insensitive).

    Raises: ActionRejected: no such app; names what is close, or else what there is.
    """
    installed = tuple(apps)
    wanted = name.strip().casefold()
    for app in installed:
        if wanted == app.package.casefold():
            return app
    for app in installed:
        if wanted == app.label.casefold():
            return app
    labels = sorted({app.label or app.package for app in installed})
    close = difflib.get_close_matches(name.strip(), labels, n=3, cutoff=0.5)
    hint = f"close: {', '.join(close)}" if close else f"installed: {', '.join(labels[:12])}"
    raise ActionRejected(f"no app {name!r}; {hint}")


def launch_command(app: LaunchableApp) -> str:
    """Return what a tap on the app's icon does: its task comes to the front, or starts."""
    return (
        "am start -a android.intent.action.MAIN -c android.intent.category.LAUNCHER -f 0x10200000 "
        f"-n {shlex.quote(app.component)}"
    )
