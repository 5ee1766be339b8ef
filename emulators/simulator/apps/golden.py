"""What a new phone has in it, so that it looks lived in; the same on every phone."""

from __future__ import annotations

from typing import Final

from emulators.simulator.apps.clock_data import Alarm
from emulators.simulator.apps.contacts_data import Contact, Labeled

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

ALARMS: Final = (
    Alarm(hour=7, minute=0, days=WEEKDAYS, label="Work"),
    Alarm(hour=9, minute=30, enabled=False),
)
