"""OsmAnd (`net.osmand`) as far as opening it goes: its first run, its folders and its database; no map is drawn."""

from __future__ import annotations

from typing import Final

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.first_run import FirstRun, IntroducedApp, Step
from rlfactory.emulators.simulator.apps.kit.rows import empty_state
from rlfactory.emulators.simulator.apps.kit.tables import Table
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "net.osmand"
_FILES: Final = f"/storage/emulated/0/Android/data/{PACKAGE}/files"
_TEXTS: Final = ("marker_description", "group_name", "group_key", "marker_next_key", "marker_map_object_name", "title")
_COUNTS: Final = ("active", "added", "visited", "color", "disabled", "selected")
MARKERS: Final = Table(
    path=f"/data/data/{PACKAGE}/databases/map_markers_db",
    name="map_markers",
    columns={
        "marker_id": "TEXT PRIMARY KEY",
        "marker_lat": "DOUBLE",
        "marker_lon": "DOUBLE",
        **dict.fromkeys(_TEXTS, "TEXT"),
        **{f"marker_{name}": "INT" for name in _COUNTS},
    },
)
_FAVORITES: Final = b"""<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>
<gpx version="1.1" creator="OsmAnd" xmlns="http://www.topografix.com/GPX/1/1">
</gpx>
"""
_FIRST_RUN: Final = FirstRun(
    package=PACKAGE,
    color="#FF8800",
    steps=(Step(title="Download a map?", buttons=("SKIP DOWNLOAD", "DOWNLOAD"), icon="map-outline"),),
)


class MapActivity(Activity):
    """Where the map would be."""

    name = "net.osmand.plus.activities.MapActivity"

    def build(self, system: System) -> ui.Widget:
        introduction = _FIRST_RUN.page(system)
        if introduction is not None:
            return introduction
        return ui.Scaffold(app_bar=ui.AppBar(title="OsmAnd"), body=empty_state("map-outline", "No map here yet"))


def _make_files(system: System) -> None:
    MARKERS.ensure(system)
    for folder in ("tracks", "favorites"):
        system.files.make_dirs(f"{_FILES}/{folder}")
    for path in (f"{_FILES}/favorites/favorites.gpx", f"/data/data/{PACKAGE}/files/favourites_bak.gpx"):
        if not system.files.exists(path):
            system.files.make_dirs(path.rpartition("/")[0])
            system.files.write(path, _FAVORITES)
    system.files.make_dirs(f"/data/data/{PACKAGE}/files/backup")


class _OsmAnd(IntroducedApp):
    def install(self, system: System) -> None:
        super().install(system)
        _make_files(system)  # in the shared storage, too: opening the app changes nothing there

    def on_launch(self, system: System) -> None:
        _make_files(system)


OSMAND = _OsmAnd(
    package=PACKAGE,
    label="OsmAnd",
    icon="map",
    color="#FF8800",
    activities=(MapActivity,),
    version_name="4.6.13",
    version_code=46_130,
    system=False,
    uses_permissions=("POST_NOTIFICATIONS",),
    filters={"android.intent.action.VIEW geo:": MapActivity},
    first_run=_FIRST_RUN,
)
