"""OpenTracks (`de.dennisguse.opentracks`): what was run, ridden and walked, and how far."""

from __future__ import annotations

from typing import Any, Final

from rlfactory.emulators.simulator.android.app import App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.forms import Field, RecordForm, long_date, moment, stored
from rlfactory.emulators.simulator.apps.kit.records import RecordList, RecordPage, facts
from rlfactory.emulators.simulator.apps.kit.tables import Record, Table
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "de.dennisguse.opentracks"
MS: Final = 1e-3
METERS_PER_MILE: Final = 1609.344
FEET_PER_METER: Final = 3.28084
_REALS: Final = (
    *("totaldistance", "avgspeed", "avgmovingspeed", "maxspeed", "minelevation", "maxelevation"),
    *("elevationgain", "elevationloss"),
)
_COUNTS: Final = ("starttime", "stoptime", "numpoints", "totaltime", "movingtime", "starttime_offset")
TRACKS: Final = Table(
    path=f"/data/data/{PACKAGE}/databases/database.db",
    name="tracks",
    columns={
        "_id": "INTEGER PRIMARY KEY AUTOINCREMENT",
        **dict.fromkeys(("name", "description", "category", "activity_type"), "TEXT"),
        **dict.fromkeys(_COUNTS, "INTEGER DEFAULT 0"),
        **dict.fromkeys(_REALS, "FLOAT DEFAULT 0"),
        "icon": "TEXT",
        "uuid": "BLOB",
    },
)
_ICONS: Final = {
    "run": "run",
    "bik": "bike",
    "cycl": "bike",
    "walk": "walk",
    "hik": "hiking",
    "swim": "swim",
    "ski": "ski",
}


def distance(meters: float) -> str:
    """Return a distance as the app shows it: miles with two decimals, feet below a hundredth of one."""
    miles = float(meters or 0) / METERS_PER_MILE
    return f"{miles:.2f} mi" if miles >= 0.01 else f"{float(meters or 0) * FEET_PER_METER:.0f} ft"


def duration(milliseconds: int) -> str:
    """Return a length of time as h:mm:ss, or mm:ss below an hour."""
    seconds = int(milliseconds or 0) // 1000
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60:02d}:{rest % 60:02d}"


class TrackForm(RecordForm):
    """Name, kind and description of a track; one made by hand has no length."""

    name = ".TrackEditActivity"
    table, title = TRACKS, ("New track", "Edit track")
    fields = (
        Field(column="name", label="Name", needed=True),
        Field(column="activity_type", label="Activity type"),
        Field(column="description", label="Description", kind="lines"),
    )

    def blank(self, system: System) -> dict[str, Any]:
        now = stored(system.now(), MS)
        texts = dict.fromkeys(("name", "description", "category", "activity_type"), "")
        counts = dict.fromkeys((*_COUNTS, *_REALS), 0)
        return {**texts, **counts, "icon": None, "uuid": now.to_bytes(16), "starttime": now, "stoptime": now}

    def finished(self, system: System, values: dict[str, Any], old: Record | None) -> dict[str, Any]:
        return {**values, "category": values["activity_type"]}


class TrackPage(RecordPage):
    """The figures of one track."""

    name = ".TrackRecordedActivity"
    table, noun, form = TRACKS, "track", TrackForm

    def title(self, system: System, row: Record) -> str:
        return str(row["name"] or "")

    def content(self, system: System, row: Record) -> tuple[ui.Widget, ...]:
        start = moment(system, row["starttime"], MS)
        hours = (row["totaltime"] or 0) / 3_600_000
        speed = (row["totaldistance"] or 0) / METERS_PER_MILE / hours if hours else 0.0
        return facts(
            [
                ("Activity type", row["activity_type"] or row["category"] or ""),
                ("Start", f"{start:%a}, {long_date(start)} {start:%H:%M}"),
                ("Distance", distance(row["totaldistance"])),
                ("Total time", duration(row["totaltime"])),
                ("Moving time", duration(row["movingtime"])),
                ("Average speed", f"{speed:.1f} mph"),
                ("Elevation gain", f"{(row['elevationgain'] or 0) * FEET_PER_METER:.0f} ft"),
                ("Description", row["description"] or ""),
            ]
        )


class TrackListActivity(RecordList):
    """All tracks, the latest first."""

    name = ".TrackListActivity"
    table, label, noun, icon = TRACKS, "OpenTracks", "track", "run"
    searched = ("name", "description", "category")
    page, form = TrackPage, TrackForm

    def rows(self, system: System) -> tuple[Record, ...]:
        return TRACKS.rows(system, "ORDER BY starttime DESC, _id")

    def item(self, system: System, row: Record) -> ui.ListItem:
        kind = str(row["category"] or "")
        icon = next((icon for part, icon in _ICONS.items() if part in kind.casefold()), "map-marker-path")
        start = moment(system, row["starttime"], MS)
        figures = f"{duration(row['totaltime'])}  \u00b7  {distance(row['totaldistance'])}"
        when = f"{start:%a}, {long_date(start)} {start:%H:%M}"
        return ui.ListItem(
            title=row["name"] or "",
            subtitle=f"{kind}  \u00b7  {figures}\n{when}",
            leading=ui.Avatar(icon=icon, color="#00695C"),
            max_lines=3,
        )


OPEN_TRACKS = App(
    package=PACKAGE,
    label="OpenTracks",
    icon="run",
    color="#00695C",
    activities=(TrackListActivity, TrackPage, TrackForm),
    version_name="4.9.7",
    version_code=5705,
    tables=(TRACKS,),
    system=False,
    uses_permissions=("ACCESS_COARSE_LOCATION", "ACCESS_FINE_LOCATION", "POST_NOTIFICATIONS"),
)
