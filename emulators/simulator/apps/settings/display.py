"""Settings: display (brightness, theme, timeout, sizes) and sound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.common import choice_dialog, note, page, row, section
from rlfactory.emulators.simulator.apps.settings.toggles import DARK_THEME, Toggle
from rlfactory.emulators.simulator.view.widgets import Action, Callback, Column, Dialog, Icon, Row, Slider, Text, Widget

ADAPTIVE_BRIGHTNESS = Toggle(
    title="Adaptive brightness",
    namespace="system",
    setting="screen_brightness_mode",
    subtitle="Optimize brightness level for available light",
)
NIGHT_LIGHT = Toggle(
    title="Night Light",
    namespace="secure",
    setting="night_display_activated",
    subtitle="Tints the screen amber to help you fall asleep",
)
AUTO_ROTATE = Toggle(title="Auto-rotate screen", namespace="system", setting="accelerometer_rotation")
LOCK_SCREEN_TOGGLES = (
    Toggle(
        title="Always show time and info",
        namespace="secure",
        setting="doze_always_on",
        subtitle="Increased battery usage",
    ),
    Toggle(title="Lift to check phone", namespace="secure", setting="doze_pulse_on_pick_up", default="1"),
)
SCREEN_TIMEOUTS = (
    ("15000", "15 seconds"),
    ("30000", "30 seconds"),
    ("60000", "1 minute"),
    ("120000", "2 minutes"),
    ("300000", "5 minutes"),
    ("600000", "10 minutes"),
    ("1800000", "30 minutes"),
)
FONT_SCALES = ("0.85", "1.0", "1.15", "1.3")
FONT_NAMES = ("Small", "Default", "Large", "Largest")


@dataclass(kw_only=True)
class DisplaySettings(Activity):
    name: ClassVar[str] = ".Settings$DisplaySettingsActivity"
    open_dialog: str = ""
    """"brightness" or "timeout"."""

    def build(self, system: System) -> Widget:
        percent = round(system.settings.brightness * 100)
        return page(
            system,
            "Display",
            (
                section("Brightness"),
                row("brightness", "Brightness level", subtitle=f"{percent}%", on_tap=self._opener("brightness")),
                ADAPTIVE_BRIGHTNESS.row(system),
                section("Lock display"),
                row("lock_screen", "Lock screen", on_tap=lambda: system.start(LockScreenSettings)),
                row(
                    "screen_timeout",
                    "Screen timeout",
                    subtitle=f"After {_timeout_name(system)} of inactivity",
                    on_tap=self._opener("timeout"),
                ),
                section("Appearance"),
                DARK_THEME.row(system),
                row(
                    "font_size",
                    "Display size and text",
                    subtitle=_font_name(system),
                    on_tap=lambda: system.start(FontSizeSettings),
                ),
                section("Color"),
                NIGHT_LIGHT.row(system),
                section("Other display controls"),
                AUTO_ROTATE.row(system),
            ),
        )

    def dialog(self, system: System) -> Dialog | None:
        if self.open_dialog == "brightness":
            return self._brightness_dialog(system)
        if self.open_dialog == "timeout":
            current = system.settings.get("system", "screen_off_timeout", "1800000")
            return choice_dialog(
                "Screen timeout", SCREEN_TIMEOUTS, current, lambda value: self._set_timeout(system, value), self._close
            )
        return None

    def _brightness_dialog(self, system: System) -> Dialog:
        slider = Slider(
            key="brightness_slider",
            description="Display brightness",
            value=system.settings.brightness,
            on_change=system.settings.set_brightness,
            width="fill",
        )
        body = Row(
            children=(
                Icon(icon="brightness-5"),
                Column(children=(slider,), weight=1),
                Icon(icon="brightness-7"),
            ),
            gap=8,
            width="fill",
        )
        return Dialog(
            title="Brightness level",
            body=body,
            actions=(Action(text="Done", on_tap=self._close),),
            on_dismiss=self._close,
        )

    def _opener(self, name: str) -> Callback:
        def open_it() -> None:
            self.open_dialog = name

        return open_it

    def _close(self) -> None:
        self.open_dialog = ""

    def _set_timeout(self, system: System, value: str) -> None:
        system.settings.put("system", "screen_off_timeout", value)
        self._close()


def _timeout_name(system: System) -> str:
    milliseconds = system.settings.get("system", "screen_off_timeout", "1800000")
    other = f"{int(milliseconds) // 1000} seconds" if milliseconds.isdecimal() else "a while"
    return dict(SCREEN_TIMEOUTS).get(milliseconds, other)


def _font_name(system: System) -> str:
    scale = system.settings.get("system", "font_scale", "1.0")
    return FONT_NAMES[FONT_SCALES.index(scale)] if scale in FONT_SCALES else f"{scale}x"


@dataclass(kw_only=True)
class LockScreenSettings(Activity):
    name: ClassVar[str] = ".Settings$LockScreenSettingsActivity"

    def build(self, system: System) -> Widget:
        rows = [toggle.row(system) for toggle in LOCK_SCREEN_TOGGLES]
        return page(system, "Lock screen", (section("When to show"), *rows))


@dataclass(kw_only=True)
class FontSizeSettings(Activity):
    name: ClassVar[str] = ".Settings$TextReadingSettingsActivity"

    def build(self, system: System) -> Widget:
        scale = system.settings.get("system", "font_scale", "1.0")
        index = FONT_SCALES.index(scale) if scale in FONT_SCALES else 1
        steps = len(FONT_SCALES) - 1

        def step(by: int) -> None:
            _set_font(system, min(max(index + by, 0), steps))

        slider = Slider(
            key="font_size_slider",
            description="Font size",
            value=index / steps,
            on_change=lambda value: _set_font(system, round(value * steps)),
            weight=1,
        )
        sizes = Row(
            children=(
                _step_button("font_smaller", "minus", "Make smaller", lambda: step(-1)),
                slider,
                _step_button("font_larger", "plus", "Make larger", lambda: step(1)),
            ),
            padding=(16, 0, 16, 8),
            gap=8,
            width="fill",
        )
        return page(
            system,
            "Display size and text",
            (
                Column(children=(_preview(float(FONT_SCALES[index])),), padding=(16, 8, 16, 8)),
                row("font_size", "Font size", subtitle=FONT_NAMES[index]),
                sizes,
                note("Make text on the screen smaller or larger."),
            ),
        )


def _preview(factor: float) -> Widget:
    """Return some text in about the size that the factor gives it."""
    return Column(
        children=(
            Text(text="Preview", style="label_medium", color="on_surface_variant"),
            Text(text="The Wizard of Oz", style="title_large" if factor >= 1 else "title_medium"),
            Text(
                text="Even with eyes protected by the green spectacles, Dorothy and her friends were at first "
                "dazzled by the brilliancy of the wonderful City.",
                style="body_large" if factor > 1 else "body_medium" if factor == 1 else "body_small",
            ),
        ),
        gap=8,
        padding=(20, 20, 20, 20),
        background="surface_container",
        radius=24,
    )


def _step_button(key: str, icon: str, description: str, on_tap: Callback) -> Widget:
    return Column(
        key=key,
        description=description,
        children=(Icon(icon=icon),),
        align="center",
        justify="center",
        width=48,
        height=48,
        on_tap=on_tap,
    )


def _set_font(system: System, index: int) -> None:
    system.settings.put("system", "font_scale", FONT_SCALES[index])


# --- sound ---------------------------------------------------------------------------------------------------------

VOLUMES = (
    ("volume_music", "Media volume", "music-note-outline", 15),
    ("volume_voice", "Call volume", "phone-outline", 7),
    ("volume_ring", "Ring & notification volume", "bell-outline", 7),
    ("volume_alarm", "Alarm volume", "alarm", 7),
)
"""Setting, label, icon, highest level."""

RINGTONES = (
    ("Pixel Sounds", "Pixel Sounds"),
    ("Argon", "Argon"),
    ("Carbon", "Carbon"),
    ("Helium", "Helium"),
    ("Krypton", "Krypton"),
)
DO_NOT_DISTURB = Toggle(
    title="Do Not Disturb", namespace="global", setting="zen_mode", subtitle="Silence notifications"
)
VIBRATE = Toggle(title="Vibrate for calls", namespace="system", setting="vibrate_when_ringing")
SOUND_EFFECTS = (
    Toggle(title="Dial pad tones", namespace="system", setting="dtmf_tone", default="1"),
    Toggle(title="Screen locking sound", namespace="system", setting="lockscreen_sounds_enabled", default="1"),
    Toggle(title="Touch sounds", namespace="system", setting="sound_effects_enabled", default="1"),
    Toggle(title="Touch vibration", namespace="system", setting="haptic_feedback_enabled", default="1"),
)


@dataclass(kw_only=True)
class SoundSettings(Activity):
    name: ClassVar[str] = ".Settings$SoundSettingsActivity"
    choosing: bool = False

    def build(self, system: System) -> Widget:
        sliders = [_volume(system, key, label, icon, top) for key, label, icon, top in VOLUMES]
        ringtone = system.settings.get("system", "ringtone", RINGTONES[0][0])
        return page(
            system,
            "Sound & vibration",
            (
                *sliders,
                DO_NOT_DISTURB.row(system),
                row("phone_ringtone", "Phone ringtone", subtitle=ringtone, on_tap=self._choose),
                VIBRATE.row(system),
                section("Other sounds"),
                *(toggle.row(system) for toggle in SOUND_EFFECTS),
            ),
        )

    def dialog(self, system: System) -> Dialog | None:
        if not self.choosing:
            return None
        current = system.settings.get("system", "ringtone", RINGTONES[0][0])
        return choice_dialog(
            "Phone ringtone", RINGTONES, current, lambda value: self._set_ringtone(system, value), self._close
        )

    def _choose(self) -> None:
        self.choosing = True

    def _close(self) -> None:
        self.choosing = False

    def _set_ringtone(self, system: System, value: str) -> None:
        system.settings.put("system", "ringtone", value)
        self.choosing = False


def _volume(system: System, key: str, label: str, icon: str, top: int) -> Widget:
    text = system.settings.get("system", key, "5")
    level = min(int(text), top) if text.isdecimal() else 0
    slider = Slider(
        key=f"{key}_slider",
        description=label,
        value=level / top,
        on_change=_volume_writer(system, key, top),
        width="fill",
    )
    return Row(
        children=(
            Icon(icon=icon if level else "volume-off"),
            Column(children=(Text(text=label), slider), gap=0, weight=1),
        ),
        gap=20,
        padding=(24, 8, 16, 4),
        width="fill",
    )


def _volume_writer(system: System, key: str, top: int) -> Callable[[float], None]:
    return lambda value: system.settings.put("system", key, str(round(value * top)))


DISPLAY_PAGES: tuple[type[Activity], ...] = (DisplaySettings, LockScreenSettings, FontSizeSettings, SoundSettings)
