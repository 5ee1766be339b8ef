"""Dialogs that several apps share: a message, a question, a choice, a line of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from rlfactory.emulators.simulator.view import widgets as ui


def message_dialog(title: str, body: str | ui.Widget, on_close: ui.Callback, *, button: str = "OK") -> ui.Dialog:
    """Return a dialog that only tells something."""
    return ui.Dialog(
        title=title, body=_body(body), actions=(ui.Action(text=button, on_tap=on_close),), on_dismiss=on_close
    )


def confirm_dialog(
    title: str,
    body: str | ui.Widget,
    *,
    yes: str,
    on_yes: ui.Callback,
    on_no: ui.Callback,
    no: str = "Cancel",
    enabled: bool = True,
) -> ui.Dialog:
    """Return a dialog with two buttons: a question, or a form; `enabled`: whether it can be answered with yes."""
    return ui.Dialog(
        title=title,
        body=_body(body),
        actions=(ui.Action(text=no, on_tap=on_no), ui.Action(text=yes, on_tap=on_yes, enabled=enabled)),
        on_dismiss=on_no,
    )


def _body(body: str | ui.Widget) -> ui.Widget | None:
    if isinstance(body, ui.Widget):
        return body
    return ui.Text(text=body, style="body_medium", color="on_surface_variant") if body else None


def choice_dialog(
    title: str,
    options: Iterable[tuple[str, str]],
    current: str,
    on_choose: Callable[[str], None],
    on_cancel: ui.Callback,
    *,
    prefix: str = "choice",
) -> ui.Dialog:
    """Return a dialog of radio rows; `options` are (value, label)."""
    rows = tuple(
        radio_row(f"{prefix}_{value}", label, value == current, partial(on_choose, value)) for value, label in options
    )
    return message_dialog(title, ui.Column(children=rows), on_cancel, button="Cancel")


def radio_row(key: str, label: str, checked: bool, on_tap: ui.Callback, *, height: float = 48) -> ui.Row:
    """Return one of several choices."""
    children = (ui.Radio(checked=checked), ui.Text(text=label, weight=1))
    return ui.Row(key=key, children=children, gap=12, height=height, width="fill", on_tap=on_tap)


def prompt_dialog(
    title: str,
    value: str,
    *,
    on_change: Callable[[str], None],
    on_ok: ui.Callback,
    on_cancel: ui.Callback,
    key: str = "edit",
    hint: str = "",
    ok: str = "OK",
    enabled: bool = True,
    password: bool = False,
) -> ui.Dialog:
    """Return a dialog with one text field; Enter is the same as the OK button."""
    field = ui.TextField(
        key=key,
        value=value,
        on_change=on_change,
        on_submit=on_ok if enabled else None,
        hint=hint,
        autofocus=True,
        password=password,
        width="fill",
    )
    return confirm_dialog(title, field, yes=ok, on_yes=on_ok, on_no=on_cancel, enabled=enabled)
