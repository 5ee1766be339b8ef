"""Camera (`com.android.camera2`): photos into Pictures, videos into Movies."""

from __future__ import annotations

import io
from functools import lru_cache, partial
from typing import Final, Literal

import PIL.Image

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.files import STORAGE, free_path, try_change
from rlfactory.emulators.simulator.apps.kit.first_run import FirstRun, IntroducedApp, Step
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "com.android.camera2"
_FIRST_RUN: Final = FirstRun(
    package=PACKAGE,
    color="#00838F",
    steps=(
        Step(
            title="Remember photo locations?",
            text="Tag your photos and videos with the locations where they are taken.",
            buttons=("NEXT",),
            icon="map-marker-outline",
        ),
    ),
)
EMPTY_MP4: Final = bytes.fromhex("000000186674797069736f6d0000020069736f6d6d7034310000000866726565")
"""A video of no frames: file type and an empty box."""


@lru_cache(maxsize=8)
def scene_photo(hour: int, size: tuple[int, int] = (480, 640)) -> bytes:
    """Return what the lens sees at this hour, as JPEG: sky over a field, darker at night."""
    light = max(0.25, 1 - abs(hour - 13) / 14)
    sky = PIL.Image.linear_gradient("L").resize(size)
    channels = [sky.point(lambda v, k=k: int((255 - v * k) * light)) for k in (0.6, 0.3, 0.1)]
    picture = PIL.Image.merge("RGB", channels)
    field = PIL.Image.new("RGB", (size[0], size[1] // 3), (int(70 * light), int(130 * light), int(60 * light)))
    picture.paste(field, (0, size[1] - size[1] // 3))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=85)
    return out.getvalue()


class CameraLauncher(Activity):
    """The viewfinder with its shutter."""

    name = "com.android.camera.CameraLauncher"
    mode: Literal["photo", "video"] = "photo"
    recording_since_ms: int = 0
    """Uptime; 0: not recording."""

    def build(self, system: System) -> ui.Widget:
        introduction = _FIRST_RUN.page(system)
        if introduction is not None:
            return introduction
        finder = ui.Photo(
            key="preview",
            description="Viewfinder",
            data=scene_photo(system.minute().hour),
            cover=True,
            weight=1,
            width="fill",
        )
        recording = bool(self.recording_since_ms)
        clock = [ui.Text(key="recording_time", text=self._elapsed(system), color="#FFFFFF")] if recording else []
        what = "Stop recording" if recording else "Start recording" if self.mode == "video" else "Shutter"
        shutter = ui.IconButton(
            key="shutter_button",
            description=what,
            icon="stop" if recording else "circle",
            color="#D32F2F" if self.mode == "video" else "#FFFFFF",
            size=44,
            diameter=72,
            container="#33FFFFFF",
            on_tap=partial(self._shoot, system),
        )
        other = "photo" if self.mode == "video" else "video"
        icon = "camera" if other == "photo" else "video"
        switch = ui.IconButton(
            key="mode_switch",
            description=f"Switch to {other.title()}",
            icon=icon,
            color="#FFFFFF",
            on_tap=setter(self, mode=other),
            enabled=not recording,
        )
        bar = ui.Row(
            children=(ui.Spacer(width=48), ui.Spacer(weight=1), shutter, ui.Spacer(weight=1), switch),
            padding=(24, 16, 24, 24),
            width="fill",
        )
        mode = ui.Text(key="mode", text=self.mode.title(), color="#FFFFFF", text_align="center")
        body = ui.Column(children=(finder, mode, *clock, bar), height="fill", align="stretch")
        return ui.Scaffold(background="#000000", body=body)

    def _elapsed(self, system: System) -> str:
        seconds = (system.uptime_ms() - self.recording_since_ms) // 1000
        return f"{seconds // 60:02d}:{seconds % 60:02d}"

    def _shoot(self, system: System) -> None:
        stamp = f"{system.now():%Y%m%d_%H%M%S}"
        if self.mode == "photo":
            _store(system, "Pictures", f"IMG_{stamp}.jpg", scene_photo(system.now().hour))
        elif not self.recording_since_ms:
            self.recording_since_ms = system.uptime_ms()
        else:
            self.recording_since_ms = 0
            _store(system, "Movies", f"VID_{stamp}.mp4", EMPTY_MP4)

    def on_pause(self, system: System) -> None:
        if self.recording_since_ms:
            self._shoot(system)


def _store(system: System, folder: str, name: str, data: bytes) -> None:
    place = f"{STORAGE}/{folder}"

    def write() -> None:
        system.files.make_dirs(place)
        system.files.write(free_path(system, place, name), data)

    if try_change(system, write):
        system.toast(f"Saved to {folder}")


CAMERA = IntroducedApp(
    package=PACKAGE,
    label="Camera",
    icon="camera",
    color="#00838F",
    activities=(CameraLauncher,),
    version_name="2.0.002",
    version_code=20_002,
    uses_permissions=("ACCESS_COARSE_LOCATION", "CAMERA", "RECORD_AUDIO"),
    filters={
        "android.media.action.IMAGE_CAPTURE": CameraLauncher,
        "android.media.action.STILL_IMAGE_CAMERA": CameraLauncher,
        "android.media.action.VIDEO_CAPTURE": CameraLauncher,
    },
    first_run=_FIRST_RUN,
)
