"""The simulated phone: one state object, and the parts that act on it. Synchronous; every call holds `lock`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import RLock
from typing import Final

import numpy as np

from rlfactory.emulators.device.device import Image, ImageSpec
from rlfactory.emulators.device.ui import UiNode
from rlfactory.emulators.simulator.android import input as touch
from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.android.catalog import Catalog
from rlfactory.emulators.simulator.android.navigation import Navigator
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.android.system_image import GoldenImages, install, parse_start, with_home
from rlfactory.emulators.simulator.apps.installed import ALL_APPS, apps_of_new_phones
from rlfactory.emulators.simulator.machine.clock import MAX_WAIT_MS, Clock, ClockKind
from rlfactory.emulators.simulator.machine.filesystem import FileTree
from rlfactory.emulators.simulator.machine.state import PhoneSnapshot, PhoneState
from rlfactory.emulators.simulator.shell import ShellOutput, run
from rlfactory.emulators.simulator.view.builder import build_scene
from rlfactory.emulators.simulator.view.drawing import render
from rlfactory.emulators.simulator.view.scene import Scene
from rlfactory.emulators.simulator.view.shown import Shown

__all__ = ["Phone", "PhoneConfig", "PhoneSnapshot", "PhoneState"]

ACTION_MS: Final = 1_000
"""Virtual time that passes with each input action, besides its own duration."""
REFERENCE_WIDTH_PX: Final = 1080
REFERENCE_DENSITY_DPI: Final = 420


@dataclass(frozen=True, kw_only=True, slots=True)
class PhoneConfig:
    """A kind of phone."""

    width_px: int = 1080
    height_px: int = 2400
    density_dpi: int = 0
    """0: what keeps the layout of a Pixel 6 at this width."""
    serial: str = "emulator-5554"
    model: str = "Pixel 6"
    start: str = "2023-10-15T15:34:00+00:00"
    """What the clock shows at boot: ISO 8601 with an offset."""
    clock: ClockKind = "virtual"
    """virtual: time passes only by actions and waits. realtime: with the host's clock."""
    app_files: tuple[str, ...] = ()
    """Python files, absolute: the apps in them are installed beside those that ship and those of packages."""

    def __post_init__(self) -> None:
        if not (160 <= self.width_px <= 4096 and 160 <= self.height_px <= 4096):
            raise ValueError(f"a screen is 160 to 4096 px wide and high, got {self.width_px}x{self.height_px}")
        if self.density_dpi and not 60 <= self.density_dpi <= 1200:
            raise ValueError(f"density_dpi must be 60 to 1200, got {self.density_dpi}")
        if self.clock not in {"virtual", "realtime"}:
            raise ValueError(f"clock must be 'virtual' or 'realtime', got {self.clock!r}")
        parse_start(self.start)

    @property
    def density(self) -> int:
        """Dots per inch, the default filled in."""
        narrow_px = min(self.width_px, self.height_px)
        return self.density_dpi or round(REFERENCE_DENSITY_DPI * narrow_px / REFERENCE_WIDTH_PX)


class Phone:
    """A phone in this process.

    `state` may be read by anyone who holds `lock`; who changes it calls `invalidate`.
    """

    def __init__(
        self, config: PhoneConfig, apps: Sequence[App] | None = None, *, golden: GoldenImages | None = None
    ) -> None:
        """Start a phone with the given apps (None: all that `config` asks for), a launcher added if there is none.

        Phones of one process should share `golden`: then only the first of a kind installs its apps.
        """
        self.config = config
        self.state: PhoneState
        self.lock = RLock()
        self.catalog = Catalog(with_home(apps_of_new_phones(config.app_files) if apps is None else apps))
        self.system = System(self)
        self.navigator = Navigator(self)
        self._shown: Shown | None = None
        self.looked_ms: int | None = None
        """Uptime at which the screen was last looked at; None: something has happened since."""
        self._golden = golden if golden is not None else GoldenImages()
        image = self._golden.find(config, self.catalog.apps)
        if image is not None:
            self.restore(image)
            if config.clock == "realtime":
                self.state.clock = self._fresh_clock()
            return
        self.state = PhoneState(clock=self._fresh_clock(), files=FileTree(self._now_ns))
        install(self)
        self._golden.keep(config, self.catalog.apps, self.snapshot())

    # --- what is shown -------------------------------------------------------------------------------------------

    @property
    def width_px(self) -> int:
        """Width of the screen in its current orientation."""
        return self._size()[self.state.display.rotation % 2]

    @property
    def height_px(self) -> int:
        return self._size()[1 - self.state.display.rotation % 2]

    @property
    def density_dpi(self) -> int:
        return self.state.display.density_override or self.config.density

    @property
    def own_packages(self) -> tuple[str, ...]:
        """Packages of the apps that do not ship with RLFactory."""
        return tuple(app.package for app in self.catalog.apps if app not in ALL_APPS)

    @property
    def foreground(self) -> str:
        """`package/class` of the resumed activity, in Android's short form."""
        with self.lock:
            tasks = self.state.tasks
            task = tasks.home if self.state.view.overlay == "recents" else tasks.front
            return task.top.component

    @property
    def activity(self) -> Activity:
        with self.lock:
            return self.state.tasks.front.top.activity

    def scene(self) -> Scene:
        """Return the placed widgets of the whole screen; built anew only if what it follows from has changed."""
        with self.lock:
            now_ms = self.state.clock.uptime_ms()
            if self._shown is None or (self.looked_ms != now_ms and not self._shown.is_good_for(self)):
                self._shown = Shown(self, build_scene(self))
            self.looked_ms = now_ms
            return self._shown.scene

    def ui_tree(self) -> UiNode:
        """Return the accessibility tree of the screen."""
        with self.lock:
            return self.scene().ui_tree

    def rgb(self) -> np.ndarray:
        """Return the screen: RGB, uint8 [H, W, 3]."""
        with self.lock:
            return render.rgb(self.scene())

    def encode(self, spec: ImageSpec) -> Image:
        """Return the screen as an encoded picture."""
        with self.lock:
            return render.encode(self.scene(), spec)

    def invalidate(self) -> None:
        """Note that the state may have changed: the next look at the screen compares it."""
        self.looked_ms = None

    # --- input ---------------------------------------------------------------------------------------------------

    def tap(self, x_px: int, y_px: int) -> None:
        self._act(lambda: touch.tap(self, x_px, y_px))

    def double_tap(self, x_px: int, y_px: int) -> None:
        with self.lock:
            self._act(lambda: touch.tap(self, x_px, y_px))
            self.second_tap(x_px, y_px)

    def second_tap(self, x_px: int, y_px: int) -> None:
        """Make the tap just done a double tap; takes no time of its own."""
        with self.lock:
            touch.second_tap(self, x_px, y_px)
            self.invalidate()

    def long_press(self, x_px: int, y_px: int, duration_ms: int = 1000) -> None:
        self._act(lambda: touch.long_press(self, x_px, y_px, duration_ms))

    def swipe(self, x1_px: int, y1_px: int, x2_px: int, y2_px: int, duration_ms: int = 300) -> None:
        self._act(lambda: touch.swipe(self, x1_px, y1_px, x2_px, y2_px, duration_ms))

    def drag(self, x1_px: int, y1_px: int, x2_px: int, y2_px: int, duration_ms: int = 1000) -> None:
        self._act(lambda: touch.drag(self, x1_px, y1_px, x2_px, y2_px, duration_ms))

    def type_text(self, text: str) -> None:
        self._act(lambda: touch.type_text(self, text))

    def key(self, name: str, meta: int = 0) -> None:
        """Press a key by its Android name without `KEYCODE_`."""
        self._act(lambda: touch.key(self, name, meta))

    # --- shell ---------------------------------------------------------------------------------------------------

    def shell(self, command: str, stdin: bytes = b"") -> ShellOutput:
        """Run a command line as root, to its end."""
        with self.lock:
            return run(self, command, stdin)

    # --- time and state ------------------------------------------------------------------------------------------

    def advance(self, milliseconds: int) -> None:
        """Let the phone's time pass at once. Raises: ValueError: negative, or more than a week."""
        if milliseconds > MAX_WAIT_MS:
            raise ValueError(f"cannot wait {milliseconds} ms; the limit is {MAX_WAIT_MS} ms")
        with self.lock:
            self.state.clock.advance(milliseconds)
            for app in self.catalog.apps:
                app.on_time(self.system)
            self.invalidate()

    def snapshot(self) -> PhoneSnapshot:
        with self.lock:
            return PhoneSnapshot(self.state.copy())

    def restore(self, snapshot: PhoneSnapshot) -> None:
        """Become what the snapshot holds; it stays good for further use."""
        with self.lock:
            state = snapshot.state.copy()
            files = FileTree(self._now_ns)
            files.restore(state.files)
            self.state = replace(state, files=files)
            self.invalidate()

    def fork(self, serial: str) -> Phone:
        """Return another phone in exactly this state."""
        with self.lock:
            twin = Phone(replace(self.config, serial=serial), self.catalog.apps, golden=self._golden)
            twin.restore(self.snapshot())
            return twin

    def state_hash(self) -> str:
        """Return a hash (hex) of the whole state; equal states have equal hashes, whatever the process."""
        with self.lock:
            self.scene()  # settles which field has the focus, which is part of the state
            return self.state.digest()

    # --- inside --------------------------------------------------------------------------------------------------

    def _act(self, action: Callable[[], None]) -> None:
        with self.lock:
            action()
            self.advance(ACTION_MS)

    def _now_ns(self) -> int:
        return self.state.clock.wall_ns()

    def _fresh_clock(self) -> Clock:
        return Clock.starting_at(parse_start(self.config.start), self.config.clock)

    def _size(self) -> tuple[int, int]:
        return self.state.display.size_override or (self.config.width_px, self.config.height_px)
