"""Notes (Markor): what is written, renamed, moved and deleted, and the first run."""

from __future__ import annotations

import pytest

from rlfactory.emulators.simulator.android.app import Intent
from rlfactory.emulators.simulator.apps.notes.markdown import rendered
from rlfactory.emulators.simulator.phone import Phone
from rlfactory.emulators.simulator.view.widgets import Row, Scroll, Text
from tests.emulators.simulator.conftest import Finger

PACKAGE = "net.gsantner.markor"
NOTEBOOK = "/storage/emulated/0/Documents/Markor"
EDITOR = "document__fragment__edit__highlighting_editor"


def notes(phone: Phone) -> list[str]:
    return phone.system.files.list(NOTEBOOK)


def text(phone: Phone, name: str) -> str:
    return phone.system.files.read(f"{NOTEBOOK}/{name}").decode()


def test_a_note_is_created_and_kept_when_left(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Create a new file or folder")
    phone.type_text("garden")
    finger.tap("OK")
    phone.type_text("Plant bulbs\nin October")
    assert text(phone, "garden.md") == "", "a note is written when it is left or saved"
    phone.key("BACK")
    phone.key("BACK")
    assert text(phone, "garden.md") == "Plant bulbs\nin October"
    assert finger.sees("garden.md")


@pytest.mark.parametrize("leave", ["home", "save", "up"])
def test_every_way_out_of_the_editor_keeps_the_text(phone: Phone, finger: Finger, leave: str) -> None:
    finger.open(PACKAGE, "ideas.txt")
    finger.tap(key=EDITOR)
    phone.key("MOVE_END")
    phone.type_text(" More.")
    match leave:
        case "home":
            phone.key("HOME")
        case "save":
            finger.tap("Save")
        case _:
            finger.tap("Navigate up")
    assert " More." in text(phone, "ideas.txt")


def test_an_app_that_is_killed_loses_what_was_not_saved(phone: Phone, finger: Finger) -> None:
    before = text(phone, "ideas.txt")
    finger.open(PACKAGE, "ideas.txt")
    finger.tap(key=EDITOR)
    phone.type_text("lost")
    phone.system.force_stop(PACKAGE)
    assert text(phone, "ideas.txt") == before


def test_looking_at_a_note_changes_nothing(phone: Phone, finger: Finger) -> None:
    files = phone.system.files
    before = {name: files.stat(f"{NOTEBOOK}/{name}") for name in notes(phone)}
    finger.open(PACKAGE)
    for name in before:
        finger.tap(name)
        finger.tap("View mode")
        phone.key("BACK")
    assert {name: files.stat(f"{NOTEBOOK}/{name}") for name in notes(phone)} == before


def test_a_plain_text_file_is_chosen_by_type_or_typed_extension(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Create a new file or folder")
    phone.type_text("log")
    finger.tap("Plain Text", "OK")
    phone.key("HOME")
    phone.system.force_stop(PACKAGE)
    finger.open(PACKAGE, "Create a new file or folder")
    phone.type_text("typed.txt")
    finger.tap("OK")
    assert {"log.txt", "typed.txt"} <= set(notes(phone))


def test_a_folder_is_created_and_entered(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Create a new file or folder")
    phone.type_text("Work")
    finger.tap("Folder")
    assert phone.system.files.is_dir(f"{NOTEBOOK}/Work")
    finger.tap("Work")
    assert finger.sees("This folder is empty")
    phone.key("BACK")
    assert finger.sees("ideas.txt")


def test_a_note_is_renamed(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE)
    finger.long_press("ideas.txt", "Rename")
    finger.replace("plans.txt")
    finger.tap("OK")
    assert "plans.txt" in notes(phone)
    assert "ideas.txt" not in notes(phone)


@pytest.mark.parametrize("name", [".. ", " ", "a/b"])
def test_a_bad_name_is_not_offered(phone: Phone, finger: Finger, name: str) -> None:
    finger.open(PACKAGE)
    finger.long_press("ideas.txt", "Rename")
    finger.replace(name)
    finger.tap("OK")
    assert finger.sees("Rename"), "the dialog stays"
    assert len(notes(phone)) == 3


def test_a_name_that_is_taken_is_refused(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE)
    finger.long_press("ideas.txt", "Rename")
    finger.replace("weekly_plan.md")
    finger.tap("OK")
    assert phone.state.view.toast == "An item with this name already exists"
    assert len(notes(phone)) == 3


def test_notes_are_moved_into_a_folder(phone: Phone, finger: Finger) -> None:
    phone.system.files.make_dirs(f"{NOTEBOOK}/Archive")
    before = phone.system.files.stat(f"{NOTEBOOK}/ideas.txt")
    finger.open(PACKAGE)
    finger.long_press("ideas.txt", "shopping_list.md", "Move", "Archive", "Here")
    assert phone.system.files.list(f"{NOTEBOOK}/Archive") == ["ideas.txt", "shopping_list.md"]
    assert phone.system.files.stat(f"{NOTEBOOK}/Archive/ideas.txt") == before, "a moved note keeps its times"


def test_all_notes_are_deleted_after_a_question(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE)
    finger.long_press("ideas.txt", "More options", "Select all", "Delete", "Cancel")
    assert len(notes(phone)) == 3
    finger.tap("Delete", "OK")
    assert notes(phone) == []
    assert finger.sees("This folder is empty")


def test_notes_are_sorted_by_date_and_turned_around(phone: Phone, finger: Finger) -> None:
    def shown() -> list[str]:
        return [item for item in finger.texts("title") if "." in item] or [
            node.text for node in phone.ui_tree().walk() if node.text.endswith((".md", ".txt"))
        ]

    finger.open(PACKAGE)
    assert shown() == ["ideas.txt", "shopping_list.md", "weekly_plan.md"]
    finger.tap("Sort by", "Date")
    assert shown() == ["shopping_list.md", "weekly_plan.md", "ideas.txt"]
    finger.tap("Sort by", "Reverse order")
    assert shown() == ["ideas.txt", "weekly_plan.md", "shopping_list.md"]


def test_notes_are_found_by_name_in_all_folders(phone: Phone, finger: Finger) -> None:
    phone.system.files.make_dirs(f"{NOTEBOOK}/Deep")
    phone.system.files.write(f"{NOTEBOOK}/Deep/secret_plan.md", b"x")
    finger.open(PACKAGE, "Search")
    phone.type_text("plan")
    assert finger.sees("secret_plan.md", "weekly_plan.md")
    assert not finger.sees("ideas.txt")


def test_files_pushed_behind_the_apps_back_are_shown(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE)
    phone.system.files.write(f"{NOTEBOOK}/pushed.md", b"from a computer")
    phone.system.force_stop(PACKAGE)
    finger.open(PACKAGE, "pushed.md")
    assert finger.node(key=EDITOR).text == "from a computer"


def test_bytes_that_are_no_utf8_survive_an_edit(phone: Phone, finger: Finger) -> None:
    phone.system.files.write(f"{NOTEBOOK}/old.txt", b"caf\xe9")
    finger.open(PACKAGE, "old.txt")
    finger.tap(key=EDITOR)
    phone.key("MOVE_END")
    phone.type_text("!")
    phone.key("HOME")
    assert phone.system.files.read(f"{NOTEBOOK}/old.txt") == b"caf\xe9!"


def test_the_toolbar_starts_a_list(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Create a new file or folder")
    phone.type_text("list")
    finger.tap("OK", "Checkbox list")
    phone.type_text("milk")
    phone.key("HOME")
    assert text(phone, "list.md") == "- [ ] milk"


def test_a_note_is_copied_to_the_clipboard(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "ideas.txt", "More options", "Copy all")
    assert phone.system.clipboard == text(phone, "ideas.txt")
    finger.tap("More options", "Info")
    assert finger.sees("OK")


def test_the_first_run_goes_as_the_contract_says(phone: Phone, finger: Finger) -> None:
    phone.system.clear_data(PACKAGE)
    finger.open(PACKAGE)
    for label in ("NEXT", "NEXT", "NEXT", "NEXT", "DONE", "OK", "Allow access to manage all files"):
        finger.tap(label)
    phone.system.force_stop(PACKAGE)
    finger.open(PACKAGE)
    assert finger.sees("Create a new file or folder")
    assert len(notes(phone)) == 3, "notes are not the app's own data"


def test_a_snapshot_keeps_an_unsaved_note(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "ideas.txt")
    finger.tap(key=EDITOR)
    phone.type_text("unsaved ")
    saved = phone.snapshot()
    finger.tap("Save")
    phone.restore(saved)
    assert "unsaved" in finger.node(key=EDITOR).text
    assert "unsaved" not in text(phone, "ideas.txt")


def test_other_apps_can_open_a_text(phone: Phone, finger: Finger) -> None:
    intent = Intent(
        action="android.intent.action.VIEW", mime_type="text/plain", data="file:///storage/emulated/0/Documents/a.txt"
    )
    phone.system.files.write("/storage/emulated/0/Documents/a.txt", b"hello")
    assert phone.system.send(intent)
    assert finger.node(key=EDITOR).text == "hello"


def test_markdown_is_shown_as_it_will_look() -> None:
    page = rendered(
        "# Title\n**bold** and `code`\n- [x] done\n1. first\n- item\n> quote\n---\n\nplain_with_underscores"
    )
    assert isinstance(page, Scroll)
    shown = [
        widget.text if isinstance(widget, Text) else "".join(c.text for c in widget.children if isinstance(c, Text))
        for widget in page.children
        if isinstance(widget, Text | Row)
    ]
    expected = ["Title", "bold and code", "done", "1.first", "\u2022item", "quote", "plain_with_underscores"]
    assert shown == expected
