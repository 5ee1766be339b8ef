"""What a new phone has in it, so that it looks lived in; the same on every phone.

A new phone has its apps' first runs behind it (`App.furnish` sets their flags). After `pm clear` the flags are gone,
and Markor and Contacts introduce themselves again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.clock.data import Alarm
from rlfactory.emulators.simulator.apps.contacts.data import Contact, Labeled

WEEKDAYS: Final = 0b0011111


def _person(given: str, family: str, number: str, *, email: str = "", company: str = "", label: int = 2) -> Contact:
    emails = (Labeled(value=email, type=1),) if email else ()
    phones = (Labeled(value=number, type=label),)
    return Contact(given=given, family=family, company=company, phones=phones, emails=emails)


CONTACTS: Final = (
    _person("Alice", "Moreno", "+1 415-555-0132", email="alice.moreno@example.com"),
    _person("Ben", "Carter", "+1 415-555-0178"),
    _person("Chiara", "Lombardi", "+1 628-555-0114", email="chiara@example.org", company="Studio Lombardi"),
    _person("Daniel", "Okoye", "+1 510-555-0190", label=3, company="Harbor Logistics"),
    _person("Emma", "Lindqvist", "+1 650-555-0121", email="emma.l@example.com"),
    _person("Mom", "", "+1 408-555-0166", label=1),
    _person("Priya", "Raman", "+1 415-555-0147"),
    _person("Tom", "Whitfield", "+1 925-555-0109", email="tom.whitfield@example.net"),
)

ALARMS: Final = (Alarm(hour=7, minute=0, days=WEEKDAYS, label="Work"), Alarm(hour=9, minute=30, enabled=False))


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldenFile:
    """A file of a new phone."""

    name: str
    data: bytes
    age_h: int
    """Hours before the phone's clock at which it was last changed."""


def write_golden(system: System, folder: str, files: Sequence[GoldenFile]) -> None:
    """Write files into a folder that is there."""
    for file in files:
        path = f"{folder}/{file.name}"
        system.files.make_dirs(path.rpartition("/")[0])
        when_ns = golden_time_ns(system, file.age_h)
        system.files.write(path, file.data, modified_ns=when_ns)
        system.files.set_times(path.rpartition("/")[0], when_ns)


def golden_time_ns(system: System, age_h: int) -> int:
    """Return the time so many hours ago, in nanoseconds since 1970."""
    return (round(system.now().timestamp()) - age_h * 3600) * 1_000_000_000


FOLDER_AGE_H: Final = 24 * 45
"""Age of the shared storage's folders."""

NOTES: Final = (
    GoldenFile(
        name="shopping_list.md",
        age_h=26,
        data=b"# Shopping list\n\n- [ ] Oat milk\n- [ ] Tomatoes\n- [x] Bread\n- [ ] Coffee beans\n",
    ),
    GoldenFile(
        name="weekly_plan.md",
        age_h=74,
        data=b"# Week 42\n\n**Monday** dentist at 9\n\n**Thursday** dinner with Emma\n\n"
        b"> Call the landlord about the key.\n",
    ),
    GoldenFile(
        name="ideas.txt",
        age_h=340,
        data=b"Learn three songs on the ukulele.\nHang the map in the hallway.\nBuild a shelf for the balcony.\n",
    ),
)

_PNG: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
_WAV: Final = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0"
_PDF: Final = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n%%EOF\n"
)

SHARED_FILES: Final = (
    GoldenFile(name="Download/boarding_pass.pdf", age_h=52, data=_PDF),
    GoldenFile(
        name="Download/train_times.csv", age_h=170, data=b"line,departs,arrives\nS1,07:12,07:48\nS1,07:42,08:18\n"
    ),
    GoldenFile(name="Download/coffee_guide.txt", age_h=410, data=b"Grind fresh, 60 g per liter, water at 93 C.\n"),
    GoldenFile(name="Documents/rental_agreement.pdf", age_h=900, data=_PDF + b"% page 2\n"),
    GoldenFile(name="Documents/packing_list.txt", age_h=100, data=b"passport\ncharger\nrain jacket\nbook\n"),
    GoldenFile(name="Pictures/sunset_pier.png", age_h=30, data=_PNG),
    GoldenFile(name="Pictures/whiteboard.png", age_h=222, data=_PNG + b"\0"),
    GoldenFile(name="DCIM/IMG_20231008_101500.png", age_h=173, data=_PNG + b"\0\0"),
    GoldenFile(name="Music/field_recording.wav", age_h=1200, data=_WAV),
)
"""Paths below the shared storage."""
