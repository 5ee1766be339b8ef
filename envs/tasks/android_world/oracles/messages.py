"""Notes in Markor and text messages."""

from __future__ import annotations

from typing import Final

from rlfactory.envs.tasks.android_world.oracles.moves import Oracle, Params, texts_of
from rlfactory.envs.tasks.phone.flows import notes
from rlfactory.envs.tasks.phone.flows.common import find_and_tap
from rlfactory.envs.tasks.ui_driver import UiDriver

MESSENGER: Final = "com.simplemobiletools.smsmessenger"
_FIELD: Final = "thread_type_message"


# --- Markor ----------------------------------------------------------------------------------------------------------


async def create(ui: UiDriver, params: Params) -> None:
    await notes.create(ui, params["file_name"], params["text"])


async def create_folder(ui: UiDriver, params: Params) -> None:
    await notes.create_folder(ui, params["folder_name"])


async def delete(ui: UiDriver, params: Params) -> None:
    await notes.delete(ui, params["file_name"])


async def delete_all(ui: UiDriver, params: Params) -> None:
    await notes.open_list(ui)
    await ui.long_press(resource_id=notes.LIST_ITEM)
    await ui.tap("More options")
    await ui.tap("Select all")
    await _delete_selected(ui)


async def delete_newest(ui: UiDriver, params: Params) -> None:
    await notes.open_list(ui)
    await ui.tap("Sort by")
    await ui.tap("Date")
    await ui.long_press(resource_id=notes.LIST_ITEM)
    await _delete_selected(ui)


async def _delete_selected(ui: UiDriver) -> None:
    await ui.tap("Delete")
    await ui.tap("OK")


async def move(ui: UiDriver, params: Params) -> None:
    await notes.open_list(ui)
    await find_and_tap(ui, params["source_folder"])
    await find_and_long_press(ui, params["file_name"])
    await ui.tap("Move")
    await ui.tap("..")
    await find_and_tap(ui, params["destination_folder"])
    await ui.tap("Here")


async def find_and_long_press(ui: UiDriver, text: str) -> None:
    await ui.scroll_to(text)
    await ui.long_press(text)


async def edit(ui: UiDriver, params: Params) -> None:
    match params["edit_type"]:
        case "header":
            await _put_at_top(ui, params["file_name"], params["header"] + "\n")
        case "footer":
            text = await notes.read(ui, params["file_name"])
            await notes.rewrite(ui, params["file_name"], f"{text}\n{params['footer']}")
        case _:
            await notes.rewrite(ui, params["file_name"], params["replace_text"])


async def add_header(ui: UiDriver, params: Params) -> None:
    await _put_at_top(ui, params["original_name"], params["header"] + "\n\n")
    await notes.rename(ui, params["original_name"], params["new_name"])


async def _put_at_top(ui: UiDriver, name: str, text: str) -> None:
    """Type in front of a note's first character."""
    await notes.open_note(ui, name)
    left, top, _, _ = ui.find(resource_id=notes.EDITOR)[0].bounds
    await ui.tap_at(left + 50, top + 40)
    await ui.key("MOVE_HOME")
    await ui.type(text)
    await ui.tap("Save")


async def change(ui: UiDriver, params: Params) -> None:
    await notes.rewrite(ui, params["original_name"], params["updated_content"])
    await notes.rename(ui, params["original_name"], params["new_name"])


async def create_from_clipboard(ui: UiDriver, params: Params) -> None:
    await notes.create(ui, params["file_name"], "")
    await ui.long_press(resource_id=notes.EDITOR)
    await ui.tap("Paste")
    await ui.tap("Save")


async def merge(ui: UiDriver, params: Params) -> None:
    texts = [await notes.read(ui, params[f"file{number}_name"]) for number in (1, 2, 3)]
    await notes.open_list(ui)
    await ui.tap("Create a new file or folder")
    await ui.type(params["new_file_name"], into="new_file_dialog__name")
    await ui.tap(resource_id="new_file_dialog__ext")
    for key in ("MOVE_END", "DEL", "DEL", "DEL"):
        await ui.key(key)
    await ui.tap("OK")
    await ui.type("\n\n".join(texts), into=notes.EDITOR)
    await ui.tap("Save")


async def create_and_send(ui: UiDriver, params: Params) -> None:
    await create(ui, params)
    await ui.tap("More options")
    await ui.tap("Share")
    await _to_number(ui, params["number"])
    await ui.tap("SMS")


# --- text messages ---------------------------------------------------------------------------------------------------


async def send(ui: UiDriver, params: Params) -> None:
    await _new_conversation(ui, params["number"])
    await _say(ui, params["message"])


async def reply(ui: UiDriver, params: Params) -> None:
    await ui.open(MESSENGER)
    await find_and_tap(ui, params["number"])
    await _say(ui, params["message"])


async def reply_to_latest(ui: UiDriver, params: Params) -> None:
    await ui.open(MESSENGER)
    await ui.tap(resource_id="conversation_frame")
    await _say(ui, params["message"])


async def send_clipboard(ui: UiDriver, params: Params) -> None:
    await _new_conversation(ui, params["number"])
    await ui.tap(resource_id=_FIELD)
    await ui.long_press(resource_id=_FIELD)
    await ui.tap("Paste")
    await ui.tap("SMS")


async def resend(ui: UiDriver, params: Params) -> None:
    await ui.open(MESSENGER)
    await find_and_tap(ui, params["name"])
    await _say(ui, ui.find(resource_id="thread_message_body")[-1].text)  # the oldest is the last


async def pass_on(ui: UiDriver, params: Params) -> None:
    """Read what one person wrote, and send it to another."""
    await ui.open(MESSENGER)
    await find_and_tap(ui, params["name2"])
    text = ui.find(resource_id="thread_message_body")[0].text
    await ui.key("BACK")
    await ui.tap("Start a conversation")
    await ui.type(params["name1"])
    row = next(node for node in ui.find(resource_id="contact") if params["name1"] in texts_of(node))
    await ui.tap_at(*row.bounds.center)
    await _say(ui, text)


async def _new_conversation(ui: UiDriver, number: str) -> None:
    await ui.open(MESSENGER)
    await ui.tap("Start a conversation")
    await _to_number(ui, number)


async def _to_number(ui: UiDriver, number: str) -> None:
    await ui.type(number)
    await ui.tap(resource_id="new_conversation_confirm")


async def _say(ui: UiDriver, text: str) -> None:
    await ui.type(text, into=_FIELD)
    await ui.tap("SMS")


ORACLES: Final[dict[str, Oracle]] = {
    "MarkorCreateNote": create,
    "MarkorCreateFolder": create_folder,
    "MarkorDeleteNote": delete,
    "MarkorDeleteAllNotes": delete_all,
    "MarkorDeleteNewestNote": delete_newest,
    "MarkorMoveNote": move,
    "MarkorEditNote": edit,
    "MarkorAddNoteHeader": add_header,
    "MarkorChangeNoteContent": change,
    "MarkorCreateNoteFromClipboard": create_from_clipboard,
    "MarkorMergeNotes": merge,
    "MarkorCreateNoteAndSms": create_and_send,
    "SimpleSmsSend": send,
    "SimpleSmsReply": reply,
    "SimpleSmsReplyMostRecent": reply_to_latest,
    "SimpleSmsSendClipboardContent": send_clipboard,
    "SimpleSmsResend": resend,
    "SimpleSmsSendReceivedAddress": pass_on,
}
