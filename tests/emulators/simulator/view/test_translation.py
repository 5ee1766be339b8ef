"""A phone that speaks German: its own words change, what people named does not, and who reads German finds all."""

from __future__ import annotations

import pytest

from rlfactory.emulators.device.language import in_english, words_of
from rlfactory.emulators.device.ui import UiNode
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig

APPS = ("com.android.settings", "com.google.android.deskclock", "com.google.android.contacts", "net.gsantner.markor")


def texts(tree: UiNode) -> list[str]:
    return [said for node in tree.walk() for said in (node.text, node.description, node.hint) if said]


@pytest.mark.parametrize("package", APPS)
def test_every_screen_can_be_read_back(package: str) -> None:
    phone = Phone(PhoneConfig(width_px=540, height_px=1200))
    phone.shell(f"monkey -p {package} 1")
    english = texts(phone.ui_tree())
    phone.shell("settings put system system_locales de-DE,en-US")
    german = phone.ui_tree()
    assert len(set(texts(german)) - set(english)) >= 2
    assert texts(in_english(german)) == english
    assert phone.shell("getprop persist.sys.locale").stdout == b"de-DE\n"


def test_a_translated_button_does_what_it_did() -> None:
    phone = Phone(PhoneConfig(width_px=540, height_px=1200))
    phone.shell("settings put system system_locales de-DE")
    phone.shell("am start -a android.settings.SETTINGS")
    row = next(node for node in phone.ui_tree().walk() if node.text == "Netzwerk & Internet")
    phone.tap(*row.bounds.center)
    assert "Flugmodus" in texts(phone.ui_tree())


def test_no_two_words_are_alike() -> None:
    german = words_of("de-DE")
    assert len(set(german.values())) == len(german)
    assert set(german.values()) & set(german) == set()
    assert words_of("de,en-US") == german
    assert words_of("en-US,de-DE") == words_of("fr-FR") == {}
