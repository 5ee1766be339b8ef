"""Simple SMS Messenger (`com.simplemobiletools.smsmessenger`): conversations over the phone's text messages."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Final
from urllib.parse import unquote

from rlfactory.emulators.simulator.android.app import Activity, Intent
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.contacts.data import all_contacts
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.dialogs import confirm_dialog
from rlfactory.emulators.simulator.apps.kit.first_run import FirstRun, IntroducedApp, Step
from rlfactory.emulators.simulator.apps.kit.rows import bar_button, empty_state, search_bar_title
from rlfactory.emulators.simulator.apps.telephony.provider import (
    MESSENGER,
    SENT,
    Message,
    add_message,
    bare,
    delete_messages,
    messages,
)
from rlfactory.emulators.simulator.view import widgets as ui

_FIRST_RUN: Final = FirstRun(
    package=MESSENGER,
    color="#F57C00",
    steps=(
        Step(title="Choose your default SMS app", buttons=("SMS Messenger",), icon="message-text-outline"),
        Step(
            title="Set SMS Messenger as your default SMS app?", buttons=("Cancel", "Set as default"), icon="message-cog"
        ),
    ),
)


def name_of(system: System, address: str) -> str:
    """Return whose number this is, or the number itself."""
    wanted = bare(address)
    for contact in all_contacts(system):
        if any(bare(phone.value) == wanted for phone in contact.phones):
            return contact.display_name
    return address


def when_text(system: System, date_ms: int) -> str:
    """Return the time of a message today, else its day."""
    now = system.minute()
    when = datetime.fromtimestamp(date_ms / 1000, tz=UTC).astimezone(now.tzinfo)
    return f"{when:%H:%M}" if when.date() == now.date() else f"{when:%b} {when.day}"


class MainActivity(Activity):
    """The conversations, the latest first."""

    name = "com.simplemobiletools.smsmessenger.activities.MainActivity"
    searching: bool = False
    query: str = ""
    deleting: str = ""
    """Number whose conversation is asked about."""

    def build(self, system: System) -> ui.Widget:
        introduction = _FIRST_RUN.page(system)
        if introduction is not None:
            return introduction
        latest: dict[str, Message] = {}
        for message in messages(system):
            latest[bare(message.address)] = message
        shown = sorted(latest.values(), key=lambda each: (each.date_ms, each.id), reverse=True)
        rows = [self._row(system, message) for message in shown if self._matches(system, message)]
        if not rows:
            rows = [empty_state("message-outline", "No stored conversations have been found")]
        search = bar_button("search", "magnify", "Search", setter(self, searching=True, query=""))
        bar: ui.Widget = ui.AppBar(title="SMS Messenger", actions=(search,))
        if self.searching:
            bar = search_bar_title("Search", self.query, writer(self, "query"), self._stop)
        start = partial(system.start, NewConversation)
        fab = ui.Fab(key="conversations_fab", icon="plus", description="Start a conversation", on_tap=start)
        body = ui.Scroll(key="conversations_list", children=(*rows, ui.Spacer(height=96)), height="fill")
        return ui.Scaffold(app_bar=bar, body=body, fab=fab)

    def _matches(self, system: System, message: Message) -> bool:
        wanted = self.query.strip().casefold()
        return wanted in f"{name_of(system, message.address)} {message.address} {message.body}".casefold()

    def _row(self, system: System, message: Message) -> ui.Widget:
        name = name_of(system, message.address)
        return ui.ListItem(
            key="conversation_frame",
            title=name,
            subtitle=f"{'You: ' if message.sent else ''}{message.body}",
            leading=ui.Avatar(letter=name[:1] if name[:1].isalpha() else "", icon="account", color="#F57C00"),
            trailing=ui.Text(text=when_text(system, message.date_ms), style="body_medium", color="on_surface_variant"),
            on_tap=partial(open_thread, system, message.address),
            on_long_press=setter(self, deleting=message.address),
        )

    def dialog(self, system: System) -> ui.Dialog | None:
        if not self.deleting:
            return None

        def delete() -> None:
            found = [each.id for each in messages(system) if bare(each.address) == bare(self.deleting)]
            delete_messages(system, found)
            self.deleting = ""

        who = name_of(system, self.deleting)
        return confirm_dialog(
            f"Delete the conversation with {who}?",
            "All of its messages will be lost.",
            yes="Delete",
            on_yes=delete,
            on_no=setter(self, deleting=""),
        )

    def _stop(self) -> None:
        self.searching, self.query = False, ""

    def on_back(self, system: System) -> bool:
        was_searching = self.searching
        self._stop()
        return was_searching


def open_thread(system: System, address: str, text: str = "") -> None:
    """Open the conversation with a number, a text ready to be sent."""
    system.start(ThreadActivity, Intent(data=f"sms:{address}", extras={"sms_body": text}))


class ThreadActivity(Activity):
    """One conversation (its number is the intent's data) with a field to write in."""

    name = "com.simplemobiletools.smsmessenger.activities.ThreadActivity"
    draft: str = ""
    chosen: int = 0
    """Id of the message whose menu is open."""

    def on_create(self, system: System) -> None:
        self.draft = str(self.intent.extras.get("sms_body", ""))

    @property
    def address(self) -> str:
        return unquote(self.intent.data.partition(":")[2].partition("?")[0])

    def on_resume(self, system: System) -> None:
        for each in self._messages(system):
            system.cancel_notification(MESSENGER, each.id)

    def _messages(self, system: System) -> list[Message]:
        return [each for each in messages(system) if bare(each.address) == bare(self.address)]

    def build(self, system: System) -> ui.Widget:
        found = self._messages(system)
        title = name_of(system, found[0].address if found else self.address)
        bubbles = tuple(self._bubble(system, message) for message in reversed(found))
        body = ui.Scroll(key="thread_messages_list", children=bubbles, gap=8, weight=1, width="fill")
        field = ui.TextField(
            key="thread_type_message",
            value=self.draft,
            hint="Type a message\u2026",
            on_change=writer(self, "draft"),
            multiline=True,
            weight=1,
        )
        send = ui.Button(
            key="thread_send_message",
            text="SMS",
            icon="send",
            kind="text",
            enabled=bool(self.draft.strip()),
            on_tap=partial(self._send, system),
        )
        compose = ui.Row(children=(field, send), gap=8, padding=(16, 8, 8, 8), width="fill")
        return ui.Scaffold(
            app_bar=ui.AppBar(title=title, on_back=system.back), body=ui.Column(children=(body, compose), height="fill")
        )

    def _bubble(self, system: System, message: Message) -> ui.Widget:
        bubble = ui.Column(
            key="thread_message",
            children=(
                ui.Text(key="thread_message_body", text=message.body),
                ui.Text(text=when_text(system, message.date_ms), style="label_medium", color="on_surface_variant"),
            ),
            padding=(16, 8, 16, 8),
            radius=18,
            background="primary_container" if message.sent else "surface_container_high",
            on_long_press=setter(self, chosen=message.id),
            weight=4,
        )
        gap = ui.Spacer(weight=1)
        sides = (gap, bubble) if message.sent else (bubble, gap)
        return ui.Row(children=sides, padding=(16, 0, 16, 0), width="fill")

    def dialog(self, system: System) -> ui.Menu | None:
        message = next((each for each in self._messages(system) if each.id == self.chosen), None)
        close = setter(self, chosen=0)
        if message is None:
            return None

        def copy() -> None:
            system.clipboard, self.chosen = message.body, 0
            system.toast("Value copied to clipboard")

        def forward() -> None:
            self.chosen = 0
            system.start(NewConversation, Intent(extras={"android.intent.extra.TEXT": message.body}))

        def delete() -> None:
            delete_messages(system, [message.id])
            self.chosen = 0

        items = (
            ui.Action(text="Copy to clipboard", icon="content-copy", on_tap=copy),
            ui.Action(text="Forward message", icon="share", on_tap=forward),
            ui.Action(text="Delete", icon="delete-outline", on_tap=delete),
        )
        return ui.Menu(items=items, on_dismiss=close)

    def _send(self, system: System) -> None:
        if self.draft.strip():
            found = self._messages(system)
            add_message(system, found[0].address if found else self.address, self.draft.strip(), kind=SENT)
            self.draft = ""


class NewConversation(Activity):
    """Whom to write to: a number typed, or a contact."""

    name = "com.simplemobiletools.smsmessenger.activities.NewConversationActivity"
    number: str = ""

    def build(self, system: System) -> ui.Widget:
        confirm = partial(self._confirm, system, self.number)
        field = ui.TextField(
            key="new_conversation_address",
            value=self.number,
            label="Add Contact or Number\u2026",
            on_change=writer(self, "number"),
            on_submit=confirm,
            autofocus=True,
            weight=1,
        )
        ok = bar_button("new_conversation_confirm", "check", "OK", confirm)
        head = ui.Row(children=(field, ok), gap=8, padding=(16, 8, 8, 8), width="fill")
        wanted = self.number.strip().casefold()
        rows = [
            ui.ListItem(
                key="contact",
                description=contact.display_name,
                title=contact.display_name,
                subtitle=phone.value,
                leading=ui.Avatar(letter=contact.display_name[:1], color="#F57C00"),
                on_tap=partial(self._confirm, system, phone.value),
            )
            for contact in all_contacts(system)
            for phone in contact.phones
            if wanted in f"{contact.display_name} {phone.value} {bare(phone.value)}".casefold()
        ]
        body = ui.Column(
            children=(head, ui.Scroll(key="contacts_list", children=tuple(rows), weight=1, width="fill")), height="fill"
        )
        return ui.Scaffold(app_bar=ui.AppBar(title="New conversation", on_back=system.back), body=body)

    def _confirm(self, system: System, number: str) -> None:
        if bare(number):
            text = str(self.intent.extras.get("android.intent.extra.TEXT", ""))
            system.back()
            open_thread(system, bare(number), text)


SMS_MESSENGER = IntroducedApp(
    package=MESSENGER,
    label="SMS Messenger",
    icon="message-text",
    color="#F57C00",
    activities=(MainActivity, ThreadActivity, NewConversation),
    version_name="5.19.3",
    version_code=85,
    system=False,
    uses_permissions=("READ_SMS", "SEND_SMS", "READ_CONTACTS", "POST_NOTIFICATIONS"),
    filters={
        "android.intent.action.SENDTO sms:": ThreadActivity,
        "android.intent.action.SENDTO smsto:": ThreadActivity,
        "android.intent.action.VIEW sms:": ThreadActivity,
        "android.intent.action.SEND text/plain": NewConversation,
    },
    first_run=_FIRST_RUN,
)
