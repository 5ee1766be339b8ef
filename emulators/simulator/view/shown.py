"""A screen together with what it was built from: while that is equal, it need not be built again."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rlfactory.emulators.simulator.machine.settings_tables import NAMESPACES
from rlfactory.emulators.simulator.view.system_ui import interruptions
from rlfactory.emulators.simulator.view.system_ui.overlays import status_facts

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone
    from rlfactory.emulators.simulator.view.scene import Scene


class Shown:
    """A scene and what it follows from."""

    def __init__(self, phone: Phone, scene: Scene) -> None:
        """Keep the scene that the phone has just built, which has settled what has the focus."""
        self.scene = scene
        self._activity = phone.activity
        self._basis = basis(phone)

    def is_good_for(self, phone: Phone) -> bool:
        """Tell whether the phone would build this scene again, with callbacks that do the same."""
        return (
            self._activity is phone.activity
            and not self.scene.tells_seconds
            and self._basis is not None
            and self._basis == basis(phone)
        )


def basis(phone: Phone) -> tuple[Any, ...] | None:
    """Return what the screen follows from; None where that is more than can be compared quickly.

    Files are never changed but replaced, so the root of the tree stands for all of them. Time counts by the minute, and
    by what has gone by itself.
    """
    state, view = phone.state, phone.state.view
    if view.overlay or view.loading:
        return None
    try:
        activity = pickle.dumps(vars(phone.activity))
    except (AttributeError, TypeError, pickle.PicklingError):
        return None
    return (
        activity,
        state.tasks.front.top.token,
        state.files.identity("/"),
        state.files.storage_full,
        tuple(state.settings.table(namespace) for namespace in NAMESPACES),
        (dict(state.packages.installed), dict(state.packages.processes), state.packages.next_pid),
        replace(view),
        replace(state.display),
        replace(state.radios),
        (state.clipboard, state.notifications, state.call_state, dict(state.properties)),
        (state.clock.minute(), state.clock.zone, status_facts(phone)),
        interruptions.showing(phone),
        bool(view.toast) and state.clock.uptime_ms() < view.toast_until_ms,
    )
