"""Files: browsing, choosing, copying, moving, renaming, deleting, finding, looking."""

from __future__ import annotations

import pytest

from rlfactory.emulators.simulator.apps.kit.files import free_path, is_good_name, kind_of, transfer_paths
from rlfactory.emulators.simulator.phone import Phone
from tests.emulators.simulator.conftest import Finger

PACKAGE = "com.google.android.documentsui"
STORAGE = "/storage/emulated/0"


def names(phone: Phone, folder: str) -> list[str]:
    return phone.system.files.list(f"{STORAGE}/{folder}")


def test_the_drawer_leads_to_the_storage_by_the_models_name(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Show roots", "Images")
    assert "sunset_pier.png" in finger.texts("title")
    finger.tap("Show roots", "Pixel 6")
    assert {"Documents", "Download"} <= set(finger.texts("title"))


def test_a_file_is_deleted_after_a_question(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Download")
    finger.long_press("coffee_guide.txt")
    assert finger.sees("1 selected")
    finger.tap("Delete", "OK")
    assert names(phone, "Download") == ["boarding_pass.pdf", "train_times.csv"]
    assert not finger.sees("coffee_guide.txt")


def test_a_file_is_moved(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Download")
    finger.long_press("coffee_guide.txt", "More options", "Move to\u2026", "Pictures", "Move")
    assert "coffee_guide.txt" in names(phone, "Pictures")
    assert "coffee_guide.txt" not in names(phone, "Download")


def test_files_are_copied_and_numbered_when_the_name_is_taken(phone: Phone, finger: Finger) -> None:
    phone.system.files.write(f"{STORAGE}/Documents/train_times.csv", b"older")
    finger.open(PACKAGE, "Download")
    finger.long_press("boarding_pass.pdf", "train_times.csv", "More options", "Copy to\u2026", "Documents", "Copy")
    assert {"boarding_pass.pdf", "train_times.csv", "train_times (1).csv"} <= set(names(phone, "Documents"))
    assert phone.system.files.read(f"{STORAGE}/Documents/train_times.csv") == b"older"
    assert len(names(phone, "Download")) == 3


def test_a_transfer_can_be_given_up(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Download")
    finger.long_press("coffee_guide.txt", "More options", "Move to\u2026", "Cancel")
    assert len(names(phone, "Download")) == 3


def test_a_file_is_renamed(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Download")
    finger.long_press("coffee_guide.txt", "More options", "Rename")
    finger.replace("brewing.txt")
    finger.tap("OK")
    assert "brewing.txt" in names(phone, "Download")


def test_a_folder_is_made(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Download", "More options", "New folder")
    phone.type_text("Invoices")
    finger.tap("OK")
    assert phone.system.files.is_dir(f"{STORAGE}/Download/Invoices")
    finger.tap("Invoices")
    assert finger.sees("No items")
    phone.key("BACK")
    assert finger.sees("Downloads")


def test_all_items_are_selected_and_deleted(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Download", "More options", "Select all", "Delete", "OK")
    assert names(phone, "Download") == []


def test_files_are_sorted(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Download", "Sort by", "Modified (oldest first)")
    assert finger.texts("title") == ["coffee_guide.txt", "train_times.csv", "boarding_pass.pdf"]
    finger.tap("Sort by", "File name (Z to A)")
    assert finger.texts("title") == ["train_times.csv", "coffee_guide.txt", "boarding_pass.pdf"]


def test_the_search_looks_below_the_folder(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Search")
    phone.type_text("agreement")
    assert finger.texts("title") == ["rental_agreement.pdf"]
    phone.key("BACK")
    phone.key("BACK")
    assert finger.sees("Alarms")


def test_a_text_is_read_and_opened_in_notes(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Download", "train_times.csv")
    assert "07:12" in finger.node(key="text").text
    finger.tap("Edit")
    assert phone.foreground.startswith("net.gsantner.markor/")


@pytest.mark.parametrize(("folder", "name"), [("Pictures", "sunset_pier.png"), ("Documents", "rental_agreement.pdf")])
def test_other_files_show_what_they_are(phone: Phone, finger: Finger, folder: str, name: str) -> None:
    finger.open(PACKAGE, folder)
    finger.tap(name)
    assert finger.sees(name)
    phone.key("BACK")
    assert name in finger.texts("title")


def test_the_properties_of_a_file_are_shown(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Download")
    finger.long_press("boarding_pass.pdf", "More options", "Get info")
    assert finger.sees(f"{STORAGE}/Download")
    finger.tap("OK")


def test_recent_files_are_newest_first(phone: Phone, finger: Finger) -> None:
    phone.system.files.write(f"{STORAGE}/Music/new.mp3", b"ID3")
    finger.open(PACKAGE, "Show roots", "Recent")
    assert finger.texts("title")[0] == "new.mp3"


def test_the_trail_leads_back(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Documents", "Markor", "Documents")
    assert "packing_list.txt" in finger.texts("title")


def test_a_folder_deleted_behind_the_apps_back_is_left(phone: Phone, finger: Finger) -> None:
    phone.system.files.make_dirs(f"{STORAGE}/Download/Gone")
    finger.open(PACKAGE, "Download", "Gone")
    phone.system.files.remove(f"{STORAGE}/Download/Gone")
    phone.system.home()
    finger.open(PACKAGE)
    assert finger.sees("Alarms")


def test_a_snapshot_keeps_the_selection(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Download")
    finger.long_press("coffee_guide.txt")
    saved = phone.snapshot()
    finger.tap("Delete", "OK")
    phone.restore(saved)
    assert finger.sees("1 selected")
    assert len(names(phone, "Download")) == 3


def test_a_folder_never_goes_into_itself(phone: Phone) -> None:
    system = phone.system
    system.files.make_dirs(f"{STORAGE}/Download/A/B")
    assert transfer_paths(system, [f"{STORAGE}/Download/A"], f"{STORAGE}/Download/A/B", move=True) == 0
    assert transfer_paths(system, [f"{STORAGE}/Download/A"], f"{STORAGE}/Download", move=True) == 0
    assert transfer_paths(system, [f"{STORAGE}/Download/A"], f"{STORAGE}/Download", move=False) == 1
    assert system.files.is_dir(f"{STORAGE}/Download/A (1)/B")
    assert free_path(system, f"{STORAGE}/Download", "A").endswith("A (2)")


@pytest.mark.parametrize(
    ("name", "good"), [("a.txt", True), ("", False), ("..", False), ("a/b", False), (" ", False), ("x" * 300, False)]
)
def test_names_are_checked(name: str, good: bool) -> None:
    assert is_good_name(name) is good


def test_unknown_kinds_are_named_by_their_extension() -> None:
    assert kind_of("x.blend").label == "BLEND file"
    assert kind_of("README").label == "File"
    assert kind_of("a.TXT").is_text


def test_a_full_storage_is_told_and_survived(phone: Phone, finger: Finger) -> None:
    finger.open(PACKAGE, "Download")
    phone.system.files.capacity_bytes = phone.system.files.used_bytes()
    finger.long_press("coffee_guide.txt", "More options", "Copy to\u2026", "Documents", "Copy")
    assert phone.state.view.toast == "No space left on device"
    assert "coffee_guide.txt" not in names(phone, "Documents")
