"""What every screen of every app keeps, as checks: tests look at each once, `benchmarks.robustness` in every look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlfactory.emulators.device.ui import Bounds, UiNode
from rlfactory.emulators.simulator.android.app import Activity, Intent

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone

SIZES: Final = ("", "540x1200", "2400x1080")
"""Of the screen; the first is the phone's own."""
FONT_SCALES: Final = ("1.0", "1.3")
_MOST_BACKS: Final = 12
_FILE: Final = "file:///storage/emulated/0/Download/coffee_guide.txt"


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """How a screen is shown."""

    size: str = ""
    """WIDTHxHEIGHT in pixels; "" for the phone's own."""
    font_scale: str = "1.0"
    dark: bool = False

    def apply(self, phone: Phone) -> None:
        size = f"wm size {self.size or 'reset'}"
        night = f"cmd uimode night {'yes' if self.dark else 'no'}"
        phone.shell(f"{size}; settings put system font_scale {self.font_scale}; {night}")


LOOKS: Final = tuple(
    Look(size=size, font_scale=scale, dark=dark) for size in SIZES for scale in FONT_SCALES for dark in (False, True)
)


def broken(phone: Phone, activity: type[Activity], look: Look) -> list[str]:
    """Open a screen and return what it does not keep; the phone is left as it was."""
    before = phone.snapshot()
    try:
        phone.system.home()
        look.apply(phone)
        phone.system.start(activity, Intent(data=_FILE))
        return [f"{activity.__name__} {look}: {fault}" for fault in _faults(phone)]
    finally:
        phone.restore(before)


def _faults(phone: Phone) -> Iterator[str]:
    picture_HWC, tree, saved = phone.rgb().copy(), phone.ui_tree(), phone.snapshot()  # noqa: N806
    yield from _outside(tree, phone.width_px, phone.height_px)
    for node in _whole(tree):
        if node.clickable and node.resource_id and not any(inner.text or inner.description for inner in node.walk()):
            yield f"nothing says what {node.resource_id} does"
        left, top, right, bottom = node.bounds
        place_HWC = picture_HWC[top:bottom, left:right]  # noqa: N806
        if node.text.strip() and place_HWC.size and (place_HWC == place_HWC[0, 0]).all():
            yield f"{node.text!r} is in the tree and not in the picture"
    phone.shell("settings put system accelerometer_rotation 0; settings put system user_rotation 1")
    phone.ui_tree()
    phone.shell("settings put system user_rotation 0")
    if phone.ui_tree() != tree:
        yield "turned and turned back it shows something else"
    package = phone.foreground.partition("/")[0]
    for _ in range(_MOST_BACKS):
        phone.key("BACK")
    if phone.state.tasks.front.top.package == package != phone.state.tasks.home.package:
        yield f"BACK leads to {phone.foreground} and no further"
    phone.restore(saved)
    if phone.ui_tree() != tree or (phone.rgb() != picture_HWC).any():
        yield "restored from a snapshot it shows something else"
    if phone.shell(f"am force-stop {package}; monkey -p {package} 1").exit_code == 0 and not phone.ui_tree().children:
        yield "started again it shows nothing"


def _outside(tree: UiNode, width_px: int, height_px: int) -> Iterator[str]:
    for node in tree.walk():
        left, top, right, bottom = node.bounds
        if left < 0 or top < 0 or right > width_px or bottom > height_px:
            yield f"{node.text or node.resource_id or node.class_name} lies outside of the screen: {node.bounds}"


def _whole(tree: UiNode, lists: tuple[Bounds, ...] = ()) -> Iterator[UiNode]:
    """Yield the nodes that no list around them has scrolled half away."""
    if not any(tree.bounds.top <= around.top or tree.bounds.bottom >= around.bottom for around in lists):
        yield tree
    for child in tree.children:
        yield from _whole(child, (*lists, tree.bounds) if tree.scrollable else lists)
