"""Settings: display (brightness, theme, timeout, sizes) and sound."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter
from rlfactory.emulators.simulator.apps.kit.dialogs import message_dialog
from rlfactory.emulators.simulator.apps.kit.rows import icon_box, note, row
from rlfactory.emulators.simulator.apps.settings.page import Act, Choice, Heading, Item, Level, Link, Page, Toggle
from rlfactory.emulators.simulator.apps.settings.switches import DARK_THEME, SWITCHES
from rlfactory.emulators.simulator.view import widgets as ui

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


def _brightness_dialog(page: Page, system: System) -> ui.Dialog:
    slider = ui.Slider(
        key="brightness_slider",
        description="Display brightness",
        value=system.settings.brightness,
        on_change=system.settings.set_brightness,
        width="fill",
    )
    parts = (ui.Icon(icon="brightness-5"), ui.Column(children=(slider,), weight=1), ui.Icon(icon="brightness-7"))
    body = ui.Row(children=parts, gap=8, width="fill")
    return message_dialog("Brightness level", body, setter(page, open=""), button="Done")


def _timeout(system: System) -> str:
    milliseconds = system.settings.get("system", "screen_off_timeout", "1800000")
    other = f"{int(milliseconds) // 1000} seconds" if milliseconds.isdecimal() else "a while"
    return f"After {dict(SCREEN_TIMEOUTS).get(milliseconds, other)} of inactivity"


# --- text size -------------------------------------------------------------------------------------------------------


def _font_scale(system: System) -> str:
    return system.settings.get("system", "font_scale", "1.0")


def _font_name(system: System) -> str:
    scale = _font_scale(system)
    return dict(zip(FONT_SCALES, FONT_NAMES, strict=True)).get(scale, f"{scale}x")


class FontSizeSettings(Page):
    name = ".Settings$TextReadingSettingsActivity"
    title = "Display size and text"

    def rows(self, system: System) -> Iterable[Item | ui.Widget]:
        scale, steps = _font_scale(system), len(FONT_SCALES) - 1
        index = FONT_SCALES.index(scale) if scale in FONT_SCALES else 1

        def choose(index: int) -> None:
            system.settings.put("system", "font_scale", FONT_SCALES[min(max(index, 0), steps)])

        slider = ui.Slider(
            key="font_size_slider",
            description="Font size",
            value=index / steps,
            on_change=lambda value: choose(round(value * steps)),
            weight=1,
        )
        smaller, larger = (
            icon_box(icon, 48, key=f"font_{word}", description=f"Make {word}", on_tap=partial(choose, target))
            for word, icon, target in (("smaller", "minus", index - 1), ("larger", "plus", index + 1))
        )
        yield ui.Column(children=(_preview(float(FONT_SCALES[index])),), padding=(16, 8, 16, 8))
        yield row("font_size", "Font size", subtitle=FONT_NAMES[index])
        yield ui.Row(children=(smaller, slider, larger), padding=(16, 0, 16, 8), gap=8, width="fill")
        yield note("Make text on the screen smaller or larger.")


def _preview(factor: float) -> ui.Widget:
    """Return some text in about the size that the factor gives it."""
    return ui.Column(
        children=(
            ui.Text(text="Preview", style="label_medium", color="on_surface_variant"),
            ui.Text(text="The Wizard of Oz", style="title_large" if factor >= 1 else "title_medium"),
            ui.Text(
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


# --- pages -----------------------------------------------------------------------------------------------------------


class DisplaySettings(Page):
    name = ".Settings$DisplaySettingsActivity"
    title = "Display"
    items = (
        Heading("Brightness"),
        Act(
            "Brightness level",
            opens=_brightness_dialog,
            subtitle=lambda system: f"{round(system.settings.brightness * 100)}%",
            key="brightness",
        ),
        Toggle(
            "Adaptive brightness",
            "system/screen_brightness_mode",
            subtitle="Optimize brightness level for available light",
        ),
        Heading("Lock display"),
        Link("Lock screen", SWITCHES["Lock screen"]),
        Choice("Screen timeout", "system/screen_off_timeout", SCREEN_TIMEOUTS, default="1800000", subtitle=_timeout),
        Heading("Appearance"),
        DARK_THEME,
        Link("Display size and text", FontSizeSettings, subtitle=_font_name, key="font_size"),
        Heading("Color"),
        Toggle(
            "Night Light", "secure/night_display_activated", subtitle="Tints the screen amber to help you fall asleep"
        ),
        Heading("Other display controls"),
        Toggle("Auto-rotate screen", "system/accelerometer_rotation"),
    )


RINGTONES = tuple((name, name) for name in ("Pixel Sounds", "Argon", "Carbon", "Helium", "Krypton"))


class SoundSettings(Page):
    name = ".Settings$SoundSettingsActivity"
    title = "Sound & vibration"
    items = (
        Level("Media volume", "system/volume_music", default="5", icon="music-note-outline", top=15),
        Level("Call volume", "system/volume_voice", default="5", icon="phone-outline", top=7),
        Level("Ring & notification volume", "system/volume_ring", default="5", icon="bell-outline", top=7),
        Level("Alarm volume", "system/volume_alarm", default="5", icon="alarm", top=7),
        Toggle("Do Not Disturb", "global/zen_mode", subtitle="Silence notifications"),
        Choice("Phone ringtone", "system/ringtone", RINGTONES, default=RINGTONES[0][0]),
        Toggle("Vibrate for calls", "system/vibrate_when_ringing"),
        Heading("Other sounds"),
        Toggle("Dial pad tones", "system/dtmf_tone", default="1"),
        Toggle("Screen locking sound", "system/lockscreen_sounds_enabled", default="1"),
        Toggle("Touch sounds", "system/sound_effects_enabled", default="1"),
        Toggle("Touch vibration", "system/haptic_feedback_enabled", default="1"),
    )


PAGES: tuple[type[Activity], ...] = (DisplaySettings, FontSizeSettings, SoundSettings)
