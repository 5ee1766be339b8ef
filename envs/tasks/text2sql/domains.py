"""Worlds that the suite's databases are about. All have one shape, and no word of one world is in another.

A *maker* has *things*; an *event* is about one thing, on a day, with an amount. Train, validation and test worlds
differ, so a query learned by heart is of no use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rlfactory.envs.api.types import Split


@dataclass(frozen=True, kw_only=True, slots=True)
class Noun:
    """A table and what people call its rows."""

    table: str
    one: str
    many: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Domain:
    """One world: its tables, their columns, and words to fill them with."""

    name: str
    maker: Noun
    maker_place: str
    """Column of the maker: where it is at home."""
    thing: Noun
    thing_kind: str
    """Column of the thing: a category."""
    thing_number: str
    """Column of the thing: a whole number."""
    number_words: str
    """What people call that number: "the number of pages"."""
    event: Noun
    event_amount: str
    """Column of the event: a number with cents."""
    amount_words: str
    makers: Sequence[str]
    places: Sequence[str]
    things: Sequence[str]
    kinds: Sequence[str]
    numbers: tuple[int, int]
    """Least and most."""

    @property
    def maker_key(self) -> str:
        return f"{self.maker.table}_id"

    @property
    def thing_key(self) -> str:
        return f"{self.thing.table}_id"

    @property
    def ddl(self) -> str:
        """The schema as the agent is shown it."""
        return f"""\
CREATE TABLE {self.maker.table} (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  {self.maker_place} TEXT
);
CREATE TABLE {self.thing.table} (
  id INTEGER PRIMARY KEY,
  {self.maker_key} INTEGER NOT NULL REFERENCES {self.maker.table}(id),
  name TEXT NOT NULL,
  {self.thing_kind} TEXT NOT NULL,
  {self.thing_number} INTEGER NOT NULL
);
CREATE TABLE {self.event.table} (
  id INTEGER PRIMARY KEY,
  {self.thing_key} INTEGER NOT NULL REFERENCES {self.thing.table}(id),
  day TEXT NOT NULL, -- YYYY-MM-DD
  {self.event_amount} REAL
);"""


DOMAINS: Mapping[Split, Sequence[Domain]] = {
    "train": (
        Domain(
            name="library",
            maker=Noun(table="author", one="author", many="authors"),
            maker_place="country",
            thing=Noun(table="book", one="book", many="books"),
            thing_kind="genre",
            thing_number="pages",
            number_words="number of pages",
            event=Noun(table="loan", one="loan", many="loans"),
            event_amount="fee",
            amount_words="fee",
            makers=("Ada Brink", "Bela Korda", "Chidi Eze", "Dana Holm", "Emil Prado", "Fumi Sato", "Gita Rao"),
            places=("Norway", "Hungary", "Nigeria", "Japan"),
            things=(
                "The Salt Road",
                "Paper Moons",
                "A Quiet Engine",
                "Nine Lanterns",
                "Low Tide",
                "The Glass Orchard",
                "Winter Numbers",
                "Border Songs",
                "The Ninth Door",
                "Small Fires",
                "Inkblot",
                "After the Ferry",
            ),
            kinds=("novel", "poetry", "history", "travel"),
            numbers=(80, 900),
        ),
        Domain(
            name="music",
            maker=Noun(table="band", one="band", many="bands"),
            maker_place="city",
            thing=Noun(table="album", one="album", many="albums"),
            thing_kind="style",
            thing_number="tracks",
            number_words="number of tracks",
            event=Noun(table="sale", one="sale", many="sales"),
            event_amount="price",
            amount_words="price",
            makers=("Velvet Anchors", "Night Ferry", "Copper Wolves", "Hollow Kites", "The Lamplighters", "Oxbow"),
            places=("Lisbon", "Leeds", "Osaka", "Quito"),
            things=(
                "Harbour Lights",
                "Static Bloom",
                "Ash and Honey",
                "Twelve Rooms",
                "Under Glass",
                "Southbound",
                "Feather Stone",
                "Cold Radio",
                "Long Division",
                "Amber Days",
                "Tin Parade",
            ),
            kinds=("jazz", "rock", "folk", "electronic"),
            numbers=(5, 24),
        ),
        Domain(
            name="clinic",
            maker=Noun(table="doctor", one="doctor", many="doctors"),
            maker_place="floor",
            thing=Noun(table="patient", one="patient", many="patients"),
            thing_kind="ward",
            thing_number="age",
            number_words="age",
            event=Noun(table="visit", one="visit", many="visits"),
            event_amount="cost",
            amount_words="cost",
            makers=("Dr. Alder", "Dr. Birch", "Dr. Cedar", "Dr. Hazel", "Dr. Rowan"),
            places=("first", "second", "third"),
            things=(
                "Ines Vale",
                "Jonas Pike",
                "Karla Mott",
                "Liam Ochre",
                "Mona Teal",
                "Nils Umber",
                "Olga Fern",
                "Pavel Stone",
                "Rita Marsh",
                "Sven Hale",
                "Tara Wynn",
                "Udo Finch",
            ),
            kinds=("surgery", "eye care", "heart", "skin"),
            numbers=(3, 96),
        ),
    ),
    "validation": (
        Domain(
            name="vineyard",
            maker=Noun(table="winery", one="winery", many="wineries"),
            maker_place="region",
            thing=Noun(table="wine", one="wine", many="wines"),
            thing_kind="grape",
            thing_number="bottles",
            number_words="number of bottles",
            event=Noun(table="tasting", one="tasting", many="tastings"),
            event_amount="score",
            amount_words="score",
            makers=("Casa Oro", "Domaine Vent", "Hill & Son", "Quinta Alta", "Weingut Tal"),
            places=("Douro", "Mosel", "Rioja", "Loire"),
            things=(
                "Red Meadow",
                "Old Bridge",
                "Silver Slope",
                "First Frost",
                "Stone Ferry",
                "High Wall",
                "Sea Mist",
                "Black Vine",
                "Golden Hour",
                "Deep Cellar",
            ),
            kinds=("riesling", "merlot", "syrah", "chenin"),
            numbers=(300, 9_000),
        ),
    ),
    "test": (
        Domain(
            name="airport",
            maker=Noun(table="airline", one="airline", many="airlines"),
            maker_place="hub",
            thing=Noun(table="route", one="route", many="routes"),
            thing_kind="cabin",
            thing_number="seats",
            number_words="number of seats",
            event=Noun(table="delay", one="delay", many="delays"),
            event_amount="minutes",
            amount_words="length in minutes",
            makers=("Aero Nova", "Blue Tern", "Condor Sur", "Delta Wing", "Eastern Star", "Fjord Air"),
            places=("Oslo", "Lima", "Doha", "Perth"),
            things=(
                "AN 101",
                "AN 230",
                "BT 17",
                "BT 45",
                "CS 900",
                "CS 905",
                "DW 12",
                "DW 88",
                "ES 4",
                "ES 71",
                "FA 33",
                "FA 56",
            ),
            kinds=("economy", "business", "charter", "cargo"),
            numbers=(20, 420),
        ),
        Domain(
            name="museum",
            maker=Noun(table="painter", one="painter", many="painters"),
            maker_place="birthplace",
            thing=Noun(table="painting", one="painting", many="paintings"),
            thing_kind="technique",
            thing_number="width_cm",
            number_words="width in centimetres",
            event=Noun(table="exhibit", one="exhibition", many="exhibitions"),
            event_amount="insured",
            amount_words="insured sum",
            makers=("A. Moreau", "B. Lindqvist", "C. Adeyemi", "D. Petrov", "E. Tanaka"),
            places=("Paris", "Lund", "Lagos", "Kyoto"),
            things=(
                "Morning Port",
                "Two Sisters",
                "Grey Horses",
                "The Loom",
                "Still Water",
                "Window at Dusk",
                "Harvest",
                "The Letter",
                "Snow Market",
                "Blue Interior",
                "Old Ferryman",
            ),
            kinds=("oil", "pastel", "etching", "gouache"),
            numbers=(18, 380),
        ),
    ),
}
