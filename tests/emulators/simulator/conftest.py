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

    def open(self, package: str) -> None:
        with self.phone.lock:
            self.phone.system.home()
            self.phone.system.open_app(package)

    def nodes(self, text: str = "", *, key: str = "") -> list[UiNode]:
        """Return the nodes with this text or description, or this resource-id."""
        return [
            node
            for node in self.phone.ui_tree().walk()
            if (text and text in {node.text, node.description}) or (key and node.resource_id.endswith(f"/{key}"))
        ]

    def sees(self, text: str = "", *, key: str = "") -> bool:
        return bool(self.nodes(text, key=key))

    def node(self, text: str = "", *, key: str = "", index: int = 0) -> UiNode:
        found = self.nodes(text, key=key)
        shown = [node.text or node.description for node in self.phone.ui_tree().walk() if node.text or node.description]
        assert len(found) > index, f"{text or key!r} is not on the screen: {shown}"
        return found[index]

    def tap(self, text: str = "", *, key: str = "", index: int = 0) -> None:
        self.phone.tap(*self.node(text, key=key, index=index).bounds.center)

    def long_press(self, text: str = "", *, key: str = "") -> None:
        self.phone.long_press(*self.node(text, key=key).bounds.center)

    def scroll_to(self, text: str) -> None:
        """Swipe up until this is on the screen."""
        for _ in range(10):
            if self.sees(text):
                return
            self.phone.swipe(540, 1700, 540, 900, 500)
        self.node(text)

    def clear(self) -> None:
        """Empty the focused field."""
        self.phone.key("MOVE_END")
        for _ in range(60):
            self.phone.key("DEL")

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
