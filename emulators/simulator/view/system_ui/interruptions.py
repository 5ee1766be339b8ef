"""What comes over an app that did not ask for it: dialogs and banners of others, a call, a page that still loads."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rlfactory.emulators.simulator.view import widgets as w

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.machine.state import Interruption, Loading
    from rlfactory.emulators.simulator.phone import Phone

END_CALL = "End call"


def showing(phone: Phone) -> Interruption | None:
    """Return the topmost interruption that has not gone by itself."""
    now_ms = phone.state.clock.uptime_ms()
    waiting = (each for each in reversed(phone.state.view.interruptions) if not each.until_ms or now_ms < each.until_ms)
    return next(waiting, None)


def answer(phone: Phone, shown: Interruption, button: str) -> None:
    """Close it; a call that is answered goes on until it is ended, and full storage is given room if asked for."""
    view = phone.state.view
    left = tuple(each for each in view.interruptions if each != shown)
    if shown.kind == "storage" and button == shown.buttons[0]:
        phone.state.files.storage_full = False
    talking = shown.kind == "call" and button == shown.buttons[-1] != END_CALL
    if shown.kind == "call":
        phone.state.call_state = 2 if talking else 0
    view.interruptions = (*left, replace(shown, text="00:00", buttons=(END_CALL,))) if talking else left
    phone.invalidate()


def window(phone: Phone, shown: Interruption) -> w.Widget:
    """Return the dialog, the banner, or the screen of a call."""
    buttons = [(text, partial(answer, phone, shown, text)) for text in shown.buttons]
    decline = buttons[0][1]
    match shown.kind:
        case "dialog" | "storage":
            body = w.Text(text=shown.text, style="body_medium", color="on_surface_variant")
            actions = tuple(w.Action(text=text, on_tap=tap) for text, tap in buttons)
            dismiss = buttons[-1][1] if shown.kind == "storage" else decline
            return w.Dialog(title=shown.title, body=body, actions=actions, on_dismiss=dismiss)
        case "banner":
            return _banner(phone, shown, decline)
        case "call":
            keys = tuple(w.Button(text=text, on_tap=tap, kind="tonal", key=f"call_{text}") for text, tap in buttons)
            caller = w.Column(
                children=(
                    w.Text(text=shown.title, style="headline_medium", text_align="center"),
                    w.Text(text=shown.text, style="body_large", text_align="center"),
                ),
                gap=8,
            )
            below = w.Row(children=keys, justify="center", gap=48)
            children = (w.Spacer(height=72), caller, w.Spacer(weight=1), below, w.Spacer(height=48))
            return w.Column(key="incall", children=children, background="surface_container_high", height="fill")


def _banner(phone: Phone, shown: Interruption, decline: w.Callback) -> w.Widget:
    def open_app() -> None:
        decline()
        if phone.system.app(shown.package) is not None:
            phone.system.open_app(shown.package)

    told = w.Column(
        children=(
            w.Text(text=shown.title, style="title_small", max_lines=1),
            w.Text(text=shown.text, style="body_medium", max_lines=3),
        ),
        weight=1,
    )
    close = w.IconButton(icon="close", key="dismiss_banner", description="Dismiss notification", on_tap=decline)
    return w.Row(
        key="heads_up",
        children=(w.Avatar(icon="message-text", color="primary", size=36), told, close),
        gap=14,
        padding=(16, 14, 8, 14),
        background="surface_container_lowest",
        radius=24,
        elevation=3,
        on_tap=open_app,
    )


def still_loading(screen: w.Widget, loading: Loading) -> w.Widget:
    """Return what stands in for a screen that is not there yet: its bar with nothing below, or nothing at all."""
    waiting = w.Centered(
        key="loading", children=(w.Text(text="Loading…", color="on_surface_variant"),), width="fill", height="fill"
    )
    if loading == "two_steps" and isinstance(screen, w.Scaffold):
        return w.Scaffold(app_bar=screen.app_bar, body=waiting, background=screen.background)
    return w.Scaffold(body=w.Centered(key="loading", children=(w.Icon(icon="android", size=72),), height="fill"))
