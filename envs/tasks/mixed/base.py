"""What the tasks of the suite share: a phone with contacts and notes of its own, and a tool to look things up with."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from rlfactory.emulators.device.device import Device
from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.mixed.people import citizens
from rlfactory.envs.tasks.phone.base import PhoneTask, literal, pick
from rlfactory.envs.tasks.phone.flows import clock as clock_flows
from rlfactory.envs.tasks.phone.flows import contacts as contact_flows
from rlfactory.envs.tasks.phone.flows import notes as note_flows
from rlfactory.envs.tasks.phone.notes import Note, draw_notes, notes_beside, seed_notes
from rlfactory.envs.tasks.phone.pools import Person, strangers
from rlfactory.envs.tasks.phone.seeding import alarms_beside, seed_alarms, seed_contacts
from rlfactory.envs.tasks.table import read_table

CONTACTS: Final = contact_flows.CONTACTS
NOTES: Final = note_flows.NOTES
CLOCK: Final = clock_flows.CLOCK


@dataclass(frozen=True, kw_only=True)
class MixedTask(PhoneTask):
    """Something is looked up, then something is done on a phone that has contacts and notes already."""

    suite: ClassVar[str] = "mixed"
    templates: ClassVar[Mapping[str, Mapping[str, Any]]] = read_table(__file__, "templates.yaml")
    max_turns: ClassVar[int] = 30
    lookup: ClassVar[str]
    """What the agent is told of the tool."""

    note: Note
    """Of the task that reads or writes one; its text is for those that read it."""
    other_notes: tuple[Note, ...]
    contacts: tuple[Person, ...]
    """Saved already, and none of the task's business."""

    @classmethod
    def sample(cls, rng: random.Random, split: Split) -> Self:
        drawn = cls.draw(rng, split)
        note, *others = draw_notes(rng, split, 3)
        if text := cls.note_text(drawn):
            note = Note(name=note.name, text=text, modified=note.modified)
        return cls(
            wording=pick(rng, cls.wordings, split),
            note=note,
            other_notes=tuple(others),
            contacts=citizens(rng, split, 3, but=cls.strangers(drawn)),
            **drawn,
            **cls.draw_world(rng),
        )

    @classmethod
    @abstractmethod
    def draw(cls, rng: random.Random, split: Split) -> dict[str, Any]:
        """Return the template's own fields by name."""

    @classmethod
    def strangers(cls, drawn: Mapping[str, Any]) -> Sequence[str]:
        """Return full names that no contact may have at the start."""
        return ()

    @classmethod
    def note_text(cls, drawn: Mapping[str, Any]) -> str:
        """Return what the note says, for a task that reads one."""
        return ""

    @property
    def goal(self) -> str:
        return f"{super().goal}\n\n{self.lookup}"

    @property
    def start_contacts(self) -> tuple[Person, ...]:
        return self.contacts

    async def setup(self, device: Device, *, timeout_s: float) -> None:
        await super().setup(device, timeout_s=timeout_s)
        notes = (self.note, *self.other_notes) if literal(self.note.key) not in self.allowed() else self.other_notes
        known = (*self.start_contacts, *strangers(self.look))
        await seed_notes(device, (*notes, *notes_beside(self.look)), look=self.look, timeout_s=timeout_s)
        await seed_contacts(device, sorted(known, key=lambda who: who.digits), timeout_s=timeout_s)
        await seed_alarms(device, alarms_beside(self.look), timeout_s=timeout_s)


# --- what is to be done on the phone ---------------------------------------------------------------------------------


def named(name: str, number: str) -> Person:
    """Return the person of a full name of two words."""
    first, _, last = name.partition(" ")
    return Person(first=first, last=last, number=number)
