"""Looking at screens while making them: any activity, drawn on a phone, as a PNG.

from rlfactory.emulators.simulator.view.preview import save_activity
save_activity("wifi.png", WifiScreen())
"""

from __future__ import annotations

from pathlib import Path

import PIL.Image

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig


def save_activity(
    path: str | Path, activity: Activity, *, package: str = "com.android.settings", phone: Phone | None = None
) -> Phone:
    """Show `activity` on `phone` (None: a new one, 1080x2400), save the screen as a PNG and return the phone.

    The activity goes on a task of its own under `package`, as if the launcher had opened it.
    """
    phone = phone or Phone(PhoneConfig())
    with phone.lock:
        tasks = phone.state.tasks
        tasks.open_task(tasks.new_record(package, activity))
        activity.on_create(phone.system)
        activity.on_resume(phone.system)
        phone.invalidate()
    save_screen(path, phone)
    return phone


def save_screen(path: str | Path, phone: Phone) -> None:
    """Save what the phone shows as a PNG."""
    PIL.Image.fromarray(phone.rgb()).save(path)


def contact_sheet(phones: list[PIL.Image.Image], *, columns: int, width_px: int, gap_px: int = 24) -> PIL.Image.Image:
    """Return screens side by side, each scaled to `width_px`, on light grey."""
    scaled = [p.resize((width_px, p.height * width_px // p.width), PIL.Image.Resampling.LANCZOS) for p in phones]
    rows = [scaled[start : start + columns] for start in range(0, len(scaled), columns)]
    height = sum(max(p.height for p in row) + gap_px for row in rows) + gap_px
    sheet = PIL.Image.new("RGB", (columns * (width_px + gap_px) + gap_px, height), "#E4E7EB")
    y = gap_px
    for row in rows:
        for column, picture in enumerate(row):
            sheet.paste(picture, (gap_px + column * (width_px + gap_px), y))
        y += max(p.height for p in row) + gap_px
    return sheet
