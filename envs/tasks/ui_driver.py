"""The oracle's driver of a phone's UI: finds things by the UI tree and acts through the public session API.

It sees what an agent can be shown and does what an agent can do, so a task that its oracle solves is solvable. The
session must deliver the UI tree (`SessionOptions.with_tree`) of its phone; any coordinate frame will do. In text-only
tasks it has `call` and `finish`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal

from rlfactory.emulators.device.language import in_english
from rlfactory.emulators.device.ui import Bounds, UiNode, from_xml
from rlfactory.envs.api.coordinates import ScreenSize, from_device
from rlfactory.envs.api.session import PlayableSession
from rlfactory.envs.api.types import JSON, EpisodeState, Observation, Reward, StepResult, ToolCall, ToolStatus

MAX_SCROLLS: Final = 10
MAX_SHOWN: Final = 40
"""Texts that an `OracleStuck` lists."""
MAX_INTERRUPTIONS: Final = 12
"""Dialogs declined and seconds waited after one action."""
MAX_RETRIES: Final = 8
LOADING_S: Final = 4
INTERRUPTERS: Final = frozenset(
    {
        "android",
        "com.android.vending",
        "com.google.android.dialer",
        "com.google.android.gms",
        "com.google.android.permissioncontroller",
    }
)
"""Packages whose windows come over an app that did not ask for them."""
DELETES_PER_STEP: Final = 16
"""Below every server's limit of calls per step."""

Direction = Literal["up", "down", "left", "right"]


class OracleStuck(Exception):
    """The oracle looks for something that the screen does not show; the message lists what it does show."""


class UiDriver:
    """What an oracle drives a phone by. Each method but `find` and `sees` is one step of the session, or several.

    Raises everywhere: OracleStuck: what it looks for is not there, or the phone refused the action.
    """

    def __init__(self, session: PlayableSession) -> None:
        """Raises: ValueError: the session has a phone and does not deliver its UI tree."""
        if session.observation.width_px and not session.options.with_tree:
            raise ValueError("an oracle needs the UI tree: reset the session with with_tree=True")
        self._session = session
        self._state = EpisodeState.RUNNING
        self._tree: tuple[str, UiNode] | None = None
        self._began_wide = session.observation.width_px > session.observation.height_px

    @property
    def observation(self) -> Observation:
        return self._session.observation

    @property
    def reward(self) -> Reward:
        return self._session.reward

    @property
    def state(self) -> EpisodeState:
        """Whether the episode ended by one of these steps, and how."""
        return self._state

    @property
    def tree(self) -> UiNode:
        """The UI tree of the latest observation, as it reads in English."""
        xml = self.observation.tree_xml
        if self._tree is None or self._tree[0] != xml:
            self._tree = (xml, in_english(from_xml(xml)))
        return self._tree[1]

    # --- looking -----------------------------------------------------------------------------------------------------

    def find(self, text: str = "", *, resource_id: str = "") -> list[UiNode]:
        """Return the visible nodes with this text or description, whose resource-id ends in /resource_id.

        Of the following the first that matches anything: the exact text, the text in any case, a part of the text.
        """
        named = [node for node in self._visible() if _has_id(node, resource_id)]
        if not text:
            return named
        wanted = text.casefold()
        rules: tuple[Callable[[str], bool], ...] = (
            lambda label: label == text,
            lambda label: label.casefold() == wanted,
            lambda label: wanted in label.casefold(),
        )
        for rule in rules:
            found = [node for node in named if rule(node.text) or rule(node.description)]
            if found:
                return found
        return []

    def sees(self, text: str) -> bool:
        """Tell whether a visible node has exactly this text or description."""
        return any(text in (node.text, node.description) for node in self._visible())

    # --- acting ------------------------------------------------------------------------------------------------------

    async def reach(self, text: str = "", *, resource_id: str = "", index: int = 0) -> UiNode:
        """Return a node, found as by `tap`; one further down or up the page is scrolled to, as on a small screen."""
        for direction in ("up", "down"):
            for _ in range(MAX_SCROLLS):
                if self.find(text, resource_id=resource_id)[index:]:
                    return self._one(text, resource_id, index)
                if not any(node.scrollable for node in self._visible()):
                    break
                before = self.observation.tree_xml
                await self._swipe_in(self._scrollable(""), direction)
                if self.observation.tree_xml == before:
                    break
        return self._one(text, resource_id, index)

    async def tap(self, text: str = "", *, resource_id: str = "", index: int = 0) -> None:
        """Tap the node with this text or description (exact match first), or whose resource-id ends in /resource_id."""
        await self.tap_at(*(await self.reach(text, resource_id=resource_id, index=index)).bounds.center)

    async def tap_at(self, x_px: int, y_px: int) -> None:
        """Tap a device pixel."""
        await self.act({"action": "tap", "coordinate": self._point(x_px, y_px)})

    async def long_press(self, text: str = "", *, resource_id: str = "") -> None:
        """Press long on a node, found as by `tap`."""
        point = self._point(*(await self.reach(text, resource_id=resource_id)).bounds.center)
        await self.act({"action": "long_press", "coordinate": point})

    async def scroll_to(self, text: str, *, resource_id: str = "") -> None:
        """Swipe up inside the scrollable, at most 10 times, until the node with exactly this text is visible."""
        for _ in range(MAX_SCROLLS):
            if self.sees(text):
                return
            before = self.observation.tree_xml
            await self._swipe_in(self._scrollable(resource_id), "up")
            if self.observation.tree_xml == before:
                break
        if not self.sees(text):
            raise self._stuck(f"no {text!r} by scrolling")

    async def swipe(self, direction: Direction) -> None:
        """Move a finger across the middle of the screen in this direction."""
        observation = self.observation
        await self._swipe_in(Bounds(0, 0, observation.width_px, observation.height_px), direction)

    async def type(self, text: str, *, into: str = "", clear: bool = False) -> None:
        """Type into the focused field, or first tap the field with resource-id `into`; `clear` empties it before."""
        if into:
            await self.tap(resource_id=into)
        if clear:
            await self._clear()
        await self.act({"action": "type", "text": text})

    async def key(self, key: str) -> None:
        """Press an Android key by its name without prefix."""
        await self.act({"action": "key", "key": key})

    async def open(self, app: str) -> None:
        """Open an app by its label or package."""
        await self.act({"action": "open_app", "app": app})

    async def wait(self, seconds: float) -> None:
        """Let the phone's time pass."""
        await self.act({"action": "wait", "seconds": seconds})

    async def finish(self, *, success: bool = True, answer: str = "") -> None:
        """End the episode."""
        arguments: dict[str, JSON] = {"status": "success" if success else "failure"}
        if answer:
            arguments["answer"] = answer
        await self._step([ToolCall(id="0", name="finish", arguments=arguments)])

    async def act(self, *actions: dict[str, JSON]) -> None:
        """Carry out phone calls by their arguments, all in one step."""
        await self._step(
            [ToolCall(id=str(index), name="phone", arguments=action) for index, action in enumerate(actions)]
        )

    async def call(self, tool: str, **arguments: JSON) -> str:
        """Call one tool, and return what it says."""
        return (await self.call_all((tool, arguments)))[0]

    async def call_all(self, *calls: tuple[str, dict[str, JSON]]) -> list[str]:
        """Call tools side by side in one step: (name, arguments) each; return what each says."""
        return await self._step(
            [ToolCall(id=str(index), name=name, arguments=arguments) for index, (name, arguments) in enumerate(calls)]
        )

    # --- below -------------------------------------------------------------------------------------------------------

    async def _step(self, calls: Sequence[ToolCall]) -> list[str]:
        result = await self._take(calls)
        for _ in range(MAX_RETRIES):  # a network that comes and goes
            failed = {(each.status, each.name == "phone") for each in result.results} == {(ToolStatus.ERROR, False)}
            if not failed or self._state is not EpisodeState.RUNNING:
                break
            result = await self._take(calls)
        await self._clear_the_way()
        for call, outcome in zip(calls, result.results, strict=True):
            if outcome.status is not ToolStatus.OK:
                raise self._stuck(f"{call.name} {dict(call.arguments)} was {outcome.status}: {outcome.text}")
        return [outcome.text for outcome in result.results]

    async def _take(self, calls: Sequence[ToolCall]) -> StepResult:
        result = await self._session.step(calls)
        self._state = result.state
        return result

    async def _clear_the_way(self) -> None:
        """Decline what others put over the app; wait for a page that still loads, and until the phone is upright."""
        for _ in range(MAX_INTERRUPTIONS):
            if self._state is not EpisodeState.RUNNING or not self.observation.tree_xml:
                return
            action = self._way_out()
            if action is None:
                return
            await self._take([ToolCall(id="0", name="phone", arguments=action)])

    def _way_out(self) -> dict[str, JSON] | None:
        """Return what to do about a screen that is not the app's; None where it is."""
        dismiss = self.find(resource_id="dismiss_banner")
        tree = self.tree
        if not dismiss and tree.package in INTERRUPTERS and not self.observation.activity.startswith(tree.package):
            dismiss = [node for node in self._visible() if node.clickable and node.text]
        if dismiss:
            return {"action": "tap", "coordinate": self._point(*dismiss[0].bounds.center)}
        seen = self.observation
        turned = (seen.width_px > seen.height_px) is not self._began_wide
        return {"action": "wait", "seconds": LOADING_S} if turned or self.find(resource_id="loading") else None

    async def _swipe_in(self, area: Bounds, direction: Direction) -> None:
        """Swipe over the middle half of the area."""
        x, y = area.center
        reach_x, reach_y = (area.right - area.left) // 4, (area.bottom - area.top) // 4
        step_x, step_y = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}[direction]
        await self.act(
            {
                "action": "swipe",
                "coordinate": self._point(x - step_x * reach_x, y - step_y * reach_y),
                "coordinate2": self._point(x + step_x * reach_x, y + step_y * reach_y),
            }
        )

    async def _clear(self) -> None:
        """Empty the focused field: to its end, then one DEL for each character."""
        focused = next((node for node in self._visible() if node.focused), None)
        if focused is None:
            raise self._stuck("no focused field to clear")
        if focused.text == focused.hint:
            return
        keys = ["MOVE_END", *["DEL"] * len(focused.text)]
        for start in range(0, len(keys), DELETES_PER_STEP):
            presses: list[dict[str, JSON]] = [
                {"action": "key", "key": key} for key in keys[start : start + DELETES_PER_STEP]
            ]
            await self.act(*presses)

    def _point(self, x_px: int, y_px: int) -> list[JSON]:
        size = ScreenSize.of(self.observation)
        return list(from_device(self._session.options.coordinates, size, x_px, y_px))

    def _visible(self) -> Iterator[UiNode]:
        width_px, height_px = self.observation.width_px, self.observation.height_px
        for node in self.tree.walk():
            left, top, right, bottom = node.bounds
            if left < right and top < bottom and left < width_px and top < height_px and right > 0 and bottom > 0:
                yield node

    def _one(self, text: str, resource_id: str, index: int) -> UiNode:
        found = self.find(text, resource_id=resource_id)
        if index >= len(found):
            wanted = " ".join(
                part for part in (repr(text) if text else "", resource_id and f"id {resource_id}") if part
            )
            raise self._stuck(f"no {wanted}" if not found else f"only {len(found)} of {wanted}, asked for [{index}]")
        return found[index]

    def _scrollable(self, resource_id: str) -> Bounds:
        found = [node.bounds for node in self._visible() if node.scrollable and _has_id(node, resource_id)]
        if not found:
            raise self._stuck(f"nothing scrollable{f' with id {resource_id}' if resource_id else ''}")
        return max(found, key=lambda bounds: (bounds.right - bounds.left) * (bounds.bottom - bounds.top))

    def _stuck(self, what: str) -> OracleStuck:
        if not self.observation.tree_xml:
            return OracleStuck(what)
        labels = [label for node in self._visible() for label in (node.text, node.description) if label]
        shown = ", ".join(map(repr, labels[:MAX_SHOWN]))
        return OracleStuck(f"{what} on {self.observation.activity}; it shows: {shown or 'no text'}")


def _has_id(node: UiNode, resource_id: str) -> bool:
    return not resource_id or node.resource_id == resource_id or node.resource_id.endswith(f"/{resource_id}")
