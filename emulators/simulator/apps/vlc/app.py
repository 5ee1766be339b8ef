"""VLC (`org.videolan.vlc`): videos of the storage, and playlists of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.first_run import ALL_FILES, FirstRun, IntroducedApp, Step
from rlfactory.emulators.simulator.apps.kit.media import Media, media_files, read_media
from rlfactory.emulators.simulator.apps.kit.playlists import LibraryActivity
from rlfactory.emulators.simulator.apps.kit.tables import Table

PACKAGE: Final = "org.videolan.vlc"
_DATABASE: Final = f"/data/data/{PACKAGE}/app_db/vlc_media.db"
MEDIA: Final = Table(
    path=_DATABASE,
    name="Media",
    columns={
        "id_media": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "type": "INTEGER DEFAULT 1",
        "duration": "INTEGER DEFAULT -1",
        "title": "TEXT",
        "filename": "TEXT",
    },
)
PLAYLISTS: Final = Table(
    path=_DATABASE,
    name="Playlist",
    columns={
        "id_playlist": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "name": "TEXT",
        "creation_date": "UNSIGNED INT NOT NULL DEFAULT 0",
    },
)
RELATION: Final = Table(
    path=_DATABASE,
    name="PlaylistMediaRelation",
    columns={"media_id": "INTEGER", "playlist_id": "INTEGER", "position": "INTEGER"},
)
_FIRST_RUN: Final = FirstRun(
    package=PACKAGE,
    color="#FF8800",
    steps=(
        Step(title="Welcome to VLC!", buttons=("Skip", "Next"), icon="vlc"),
        Step(title="VLC needs access to your media", buttons=("GRANT PERMISSION",), icon="folder-lock-outline"),
        Step(title="Allow VLC to access all files?", buttons=("OK",), icon="folder-key-outline", sends=ALL_FILES),
    ),
)


class MainActivity(LibraryActivity):
    """The library: each video of the storage is a row of the database, too."""

    name = ".gui.MainActivity"
    label, color, noun, icon, first_run = "VLC", "#FF8800", "video", "movie-outline", _FIRST_RUN

    def on_resume(self, system: System) -> None:
        _index(system)

    def media(self, system: System) -> Sequence[Media]:
        return [_named(read_media(system, item)) for item in media_files(system, "video")]

    def playlists(self, system: System) -> Sequence[tuple[int, str]]:
        return [(row["id_playlist"], row["name"]) for row in PLAYLISTS.rows(system, "ORDER BY id_playlist")]

    def entries(self, system: System, playlist: int) -> Sequence[tuple[str, str]]:
        names = {row["id_media"]: row["filename"] for row in MEDIA.rows(system)}
        found = RELATION.rows(system, f"WHERE playlist_id = {playlist} ORDER BY position")
        return [(names.get(row["media_id"], ""), "") for row in found]

    def create(self, system: System, name: str) -> int:
        return PLAYLISTS.insert(system, {"name": name, "creation_date": int(system.now().timestamp())})

    def append(self, system: System, playlist: int, media: Sequence[Media]) -> None:
        _index(system)
        ids = {row["filename"]: row["id_media"] for row in MEDIA.rows(system)}
        first = len(self.entries(system, playlist))
        for position, medium in enumerate(media, first):
            row = {"media_id": ids[medium.title], "playlist_id": playlist, "position": position}
            RELATION.insert(system, row)

    def remove(self, system: System, playlist: int) -> None:
        PLAYLISTS.delete(system, [playlist])
        with RELATION.open(system) as db:
            db.execute("DELETE FROM PlaylistMediaRelation WHERE playlist_id = ?", (playlist,))


def _named(medium: Media) -> Media:
    """VLC calls videos by their files."""
    return Media(path=medium.path, title=medium.path.rpartition("/")[2], artist="", duration_ms=medium.duration_ms)


def _index(system: System) -> None:
    """Note each video of the storage that the database does not have yet."""
    for table in (MEDIA, PLAYLISTS, RELATION):
        table.ensure(system)
    known = {row["filename"] for row in MEDIA.rows(system)}
    for item in media_files(system, "video"):
        if item.name not in known:
            MEDIA.insert(system, {"title": item.name, "filename": item.name})


class _Vlc(IntroducedApp):
    def on_launch(self, system: System) -> None:
        _index(system)


VLC = _Vlc(
    package=PACKAGE,
    label="VLC",
    icon="vlc",
    color="#FF8800",
    activities=(MainActivity,),
    version_name="3.5.4",
    version_code=13_050_408,
    system=False,
    uses_permissions=("POST_NOTIFICATIONS",),
    first_run=_FIRST_RUN,
)
