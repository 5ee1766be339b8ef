"""The oracle's hand: finds things on the screen by their UI tree and acts through the public session API."""

from __future__ import annotations

from typing import Protocol

from envs.types import Observation, Reward


class Hand(Protocol):
    """What an oracle plays with. Raises `OracleStuck` when something it looks for is not there."""

    @property
    def observation(self) -> Observation: ...

    @property
    def reward(self) -> Reward: ...

    def sees(self, text: str) -> bool:
        """Tell whether a visible node has this text or description."""
        ...

    async def tap(self, text: str = "", *, resource_id: str = "", index: int = 0) -> None:
        """Tap the node with this text or description (exact match first), or whose resource-id ends in /resource_id."""
        ...

    async def tap_at(self, x_px: int, y_px: int) -> None: ...

    async def long_press(self, text: str = "", *, resource_id: str = "") -> None: ...

    async def scroll_to(self, text: str, *, resource_id: str = "") -> None:
        """Swipe up inside the scrollable, at most 10 times, until the node is visible."""
        ...

    async def swipe(self, direction: str) -> None: ...

    async def type(self, text: str, *, into: str = "", clear: bool = False) -> None:
        """Type into the focused field, or first tap the field with resource-id `into`."""
        ...

    async def key(self, key: str) -> None: ...

    async def open(self, app: str) -> None: ...

    async def finish(self, *, success: bool = True, answer: str = "") -> None: ...
