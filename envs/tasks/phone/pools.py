"""What the parameters of the phone suite are drawn from. No value is in the pools of two splits."""

from __future__ import annotations

import random
from dataclasses import dataclass

from rlfactory.envs.api.types import Split
from rlfactory.envs.tasks.phone.base import Pool, pick

FIRST_NAMES: Pool[str] = {
    "train": (
        "Amara",
        "Bruno",
        "Chloe",
        "Diego",
        "Elena",
        "Farid",
        "Grace",
        "Hugo",
        "Ingrid",
        "Jonas",
        "Keiko",
        "Liam",
    ),
    "validation": ("Mira", "Nikolai", "Olive", "Pedro", "Quinn", "Rosa", "Samir"),
    "test": ("Tomas", "Uma", "Viktor", "Wendy", "Xenia", "Yusuf", "Zara", "Anders", "Beatriz"),
}
LAST_NAMES: Pool[str] = {
    "train": ("Abara", "Bianchi", "Castillo", "Dubois", "Eriksen", "Fischer", "Gupta", "Hansen", "Ito", "Jensen"),
    "validation": ("Kowalski", "Larsen", "Moreau", "Novak", "Okafor", "Petrov"),
    "test": ("Quispe", "Rossi", "Sato", "Tanaka", "Ulrich", "Vega", "Weber", "Young"),
}
AREA_CODES: Pool[str] = {
    "train": ("212", "303", "415", "503", "617", "713"),
    "validation": ("305", "702", "919"),
    "test": ("206", "312", "404", "808"),
}
ALARM_LABELS: Pool[str] = {
    "train": ("Gym", "School run", "Water plants", "Standup", "Medicine", "Call home"),
    "validation": ("Yoga", "Feed cat", "Piano lesson"),
    "test": ("Night train", "Swimming", "Bake bread", "Team lunch"),
}
NOTE_NAMES: Pool[str] = {
    "train": (
        "groceries",
        "meeting_minutes",
        "book_list",
        "garden_plan",
        "gift_ideas",
        "travel_budget",
        "workout_log",
        "project_alpha",
        "car_repair",
        "movie_night",
    ),
    "validation": ("reading_notes", "house_rules", "picnic", "tax_papers", "running_plan", "language_class"),
    "test": (
        "wedding_guests",
        "camping_gear",
        "moving_boxes",
        "choir_songs",
        "bike_tour",
        "science_fair",
        "dinner_menu",
        "rent_contract",
    ),
}
NOTE_TEXTS: Pool[str] = {
    "train": (
        "Buy two bags of flour and a lemon.",
        "The plumber comes on Thursday.",
        "Ask about the blue paint.",
        "Return the library books by Friday.",
        "Passport is in the top drawer.",
        "Call the bank about the card.",
        "Water the tomatoes twice a week.",
        "Pick up the parcel at noon.",
    ),
    "validation": (
        "The key is under the flower pot.",
        "Bring sunscreen and a hat.",
        "Dentist moved to next Monday.",
        "Order new filters for the pump.",
    ),
    "test": (
        "The tent needs a new zip.",
        "Rehearsal starts half an hour early.",
        "Send the invoice to the landlord.",
        "Table for six, window side.",
        "Spare batteries are in the garage.",
        "Ask for the vegetarian menu.",
    ),
}
FOLDERS: Pool[str] = {
    "train": ("Archive", "Work", "Family", "Ideas", "Receipts"),
    "validation": ("Hobby", "School", "Health"),
    "test": ("Travel", "Clients", "Recipes", "House"),
}
FILE_STEMS: Pool[str] = {
    "train": ("invoice_march", "beach_house", "manual_oven", "ticket_oslo", "floor_plan", "cv_draft", "recipe_soup"),
    "validation": ("lease_copy", "map_trails", "poster_final", "budget_sheet", "menu_card"),
    "test": ("scan_passport", "choir_flyer", "warranty_bike", "timetable_bus", "sketch_logo", "report_q3"),
}
FILE_TYPES = ("pdf", "txt", "csv")
DEVICE_NAMES: Pool[str] = {
    "train": ("Kitchen phone", "Blue Pixel", "Demo unit 7", "Harbour phone"),
    "validation": ("Spare Pixel", "Lab phone 12"),
    "test": ("Studio phone", "Night shift Pixel", "Field unit 3"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    """A contact: names and a phone number."""

    first: str
    last: str
    number: str
    """As "415-555-0132"."""

    @property
    def full_name(self) -> str:
        return f"{self.first} {self.last}"

    @property
    def digits(self) -> str:
        return digits_of(self.number)

    @property
    def spellings(self) -> tuple[str, ...]:
        """Return the ways in which the number may be written down."""
        area, exchange, line = self.number.split("-")
        return self.number, self.digits, f"({area}) {exchange}-{line}", f"{area} {exchange} {line}"


def digits_of(text: str) -> str:
    return "".join(character for character in text if character.isdigit())


def number(rng: random.Random, split: Split) -> str:
    return f"{pick(rng, AREA_CODES, split)}-555-{rng.randrange(10_000):04d}"


def people(rng: random.Random, split: Split, count: int) -> tuple[Person, ...]:
    """Draw people no two of whom share a first name, a last name or a number."""
    firsts = rng.sample(FIRST_NAMES[split], count)
    lasts = rng.sample(LAST_NAMES[split], count)
    numbers: dict[str, None] = {}
    while len(numbers) < count:
        numbers[number(rng, split)] = None
    return tuple(Person(first=f, last=s, number=n) for f, s, n in zip(firsts, lasts, numbers, strict=True))
