"""A finger for the apps' tests: it finds things on the screen as an agent would, and acts by touch."""

from __future__ import annotations

import pytest

from rlfactory.emulators.device.ui import UiNode
from rlfactory.emulators.simulator.android.system_image import GoldenImages
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig


class Finger:
    """Acts on one phone by what its UI tree shows."""

    def __init__(self, phone: Phone) -> None:
        self.phone = phone

    def open(self, package: str, *texts: str) -> None:
        """Open an app from the home screen, and tap what has these texts, one after the other."""
        with self.phone.lock:
            self.phone.system.home()
            self.phone.system.open_app(package)
        self.tap(*texts)

    def nodes(self, text: str = "", *, key: str = "") -> list[UiNode]:
        """Return the nodes with this text or description, or this resource-id."""
        return [
            node
            for node in self.phone.ui_tree().walk()
            if (text and text in {node.text, node.description}) or (key and node.resource_id.endswith(f"/{key}"))
        ]

    def sees(self, *texts: str) -> bool:
        """Tell whether all these texts or descriptions are on the screen."""
        return all(self.nodes(text) for text in texts)

    def node(self, text: str = "", *, key: str = "", index: int = 0) -> UiNode:
        found = self.nodes(text, key=key)
        shown = [node.text or node.description for node in self.phone.ui_tree().walk() if node.text or node.description]
        assert len(found) > index, f"{text or key!r} is not on the screen: {shown}"
        return found[index]

    def tap(self, *texts: str, key: str = "") -> None:
        """Tap what has these texts or descriptions, each scrolled to, one after the other; or the resource-id `key`."""
        if key:
            self.phone.tap(*self.node(key=key).bounds.center)
        for text in texts:
            self.scroll_to(text)
            self.phone.tap(*self.node(text).bounds.center)

    def long_press(self, text: str, *then: str) -> None:
        """Press something long, then tap what has the further texts."""
        self.phone.long_press(*self.node(text).bounds.center)
        self.tap(*then)

    def scroll_to(self, text: str) -> None:
        """Swipe up until this is on the screen."""
        for _ in range(10):
            if self.sees(text):
                return
            self.phone.swipe(540, 1700, 540, 900, 500)
        self.node(text)

    def fill(self, **fields: str) -> None:
        """Type into the fields with these resource-ids."""
        for key, text in fields.items():
            self.tap(key=key)
            self.phone.type_text(text)

    def replace(self, text: str) -> None:
        """Type over what the focused field holds."""
        self.phone.key("MOVE_END")
        for _ in range(60):
            self.phone.key("DEL")
        self.phone.type_text(text)

    def texts(self, key: str) -> list[str]:
        return [node.text for node in self.nodes(key=key)]


@pytest.fixture(scope="session")
def golden() -> GoldenImages:
    """Freshly installed phones, so that only the first test of a kind installs the apps."""
    return GoldenImages()


@pytest.fixture
def phone(golden: GoldenImages) -> Phone:
    """A new phone with all apps."""
    return Phone(PhoneConfig(), golden=golden)


@pytest.fixture
def finger(phone: Phone) -> Finger:
    return Finger(phone)
