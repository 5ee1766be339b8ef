"""Retro Music (`code.name.monkey.retromusic`): songs, playlists, a playing queue."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from rlfactory.emulators.simulator.android.app import Intent
from rlfactory.emulators.simulator.android.content import BroadcastResult
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.files import STORAGE, try_change
from rlfactory.emulators.simulator.apps.kit.first_run import FirstRun, IntroducedApp
from rlfactory.emulators.simulator.apps.kit.media import Media, media_files, read_media
from rlfactory.emulators.simulator.apps.kit.playlists import LibraryActivity
from rlfactory.emulators.simulator.apps.kit.tables import Table
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "code.name.monkey.retromusic"
_DATABASES: Final = f"/data/data/{PACKAGE}/databases"
_SONG: Final = {
    "id": "INTEGER NOT NULL",
    "title": "TEXT NOT NULL",
    "track_number": "INTEGER NOT NULL DEFAULT 0",
    "year": "INTEGER NOT NULL DEFAULT 0",
    "duration": "INTEGER NOT NULL",
    "data": "TEXT NOT NULL",
    "date_modified": "INTEGER NOT NULL DEFAULT 0",
    "album_id": "INTEGER NOT NULL DEFAULT 0",
    "album_name": "TEXT NOT NULL DEFAULT ''",
    "artist_id": "INTEGER NOT NULL DEFAULT 0",
    "artist_name": "TEXT NOT NULL DEFAULT ''",
}
SONGS: Final = Table(
    path=f"{_DATABASES}/playlist.db",
    name="SongEntity",
    columns={
        "song_key": "INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL",
        "playlist_creator_id": "INTEGER NOT NULL",
        **_SONG,
    },
)
PLAYLISTS: Final = Table(
    path=f"{_DATABASES}/playlist.db",
    name="PlaylistEntity",
    columns={"playlist_id": "INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL", "playlist_name": "TEXT NOT NULL"},
)
QUEUE: Final = Table(
    path=f"{_DATABASES}/music_playback_state.db",
    name="playing_queue",
    columns={"_id": "INTEGER PRIMARY KEY AUTOINCREMENT", **_SONG},
)
_FIRST_RUN: Final = FirstRun(package=PACKAGE, color="#7B1FA2", steps=())


def _row(medium: Media) -> dict[str, object]:
    values = {"id": 0, "title": medium.title, "duration": medium.duration_ms, "data": medium.path}
    return {**values, "artist_name": medium.artist}


class MainActivity(LibraryActivity):
    """The library. A tap on a song plays it; several go to the queue or a playlist."""

    name = ".activities.MainActivity"
    label, color, noun, icon, first_run = "Retro Music", "#7B1FA2", "song", "music-note", _FIRST_RUN

    def media(self, system: System) -> Sequence[Media]:
        found = [read_media(system, item) for item in media_files(system, "audio", ("Music", "Download"))]
        return sorted(found, key=lambda medium: medium.title.casefold())

    def playlists(self, system: System) -> Sequence[tuple[int, str]]:
        return [(row["playlist_id"], row["playlist_name"]) for row in PLAYLISTS.rows(system, "ORDER BY playlist_id")]

    def entries(self, system: System, playlist: int) -> Sequence[tuple[str, str]]:
        found = SONGS.rows(system, f"WHERE playlist_creator_id = {playlist} ORDER BY song_key")
        return [
            (row["title"], Media(path="", title="", artist="", duration_ms=row["duration"]).length) for row in found
        ]

    def create(self, system: System, name: str) -> int:
        return PLAYLISTS.insert(system, {"playlist_name": name})

    def append(self, system: System, playlist: int, media: Sequence[Media]) -> None:
        for medium in media:
            SONGS.insert(system, {"playlist_creator_id": playlist, **_row(medium)})

    def remove(self, system: System, playlist: int) -> None:
        PLAYLISTS.delete(system, [playlist])
        SONGS.delete(system, [row["song_key"] for row in SONGS.rows(system, f"WHERE playlist_creator_id = {playlist}")])

    def play(self, system: System, medium: Media) -> None:
        QUEUE.delete(system, [row["_id"] for row in QUEUE.rows(system)])
        self._enqueue(system, [medium])
        super().play(system, medium)

    def _enqueue(self, system: System, media: Sequence[Media]) -> None:
        for medium in media:
            QUEUE.insert(system, _row(medium))
        self.done()

    def selection_actions(self, system: System, media: Sequence[Media]) -> tuple[ui.Action, ...]:
        return (ui.Action(text="Add to playing queue", on_tap=partial(self._enqueue, system, media)),)

    def playlist_actions(self, system: System, playlist: int, name: str) -> tuple[ui.Action, ...]:
        def save() -> None:
            rows = SONGS.rows(system, f"WHERE playlist_creator_id = {playlist} ORDER BY song_key")
            lines = [
                f"#EXTINF:{row['duration'] // 1000},{row['artist_name']} - {row['title']}\n{row['data']}"
                for row in rows
            ]
            path = f"{STORAGE}/Download/{name}.m3u"

            def write() -> None:
                system.files.make_dirs(f"{STORAGE}/Download")
                system.files.write(path, "\n".join(("#EXTM3U", *lines, "")).encode())

            if try_change(system, write):
                system.toast(f"Saved playlist to {path}")
                self.open = ""

        return (ui.Action(text="Save as file", on_tap=save),)


def _scanned(system: System, intent: Intent) -> BroadcastResult:
    """The library is read anew at each look."""
    return BroadcastResult()


RETRO_MUSIC = IntroducedApp(
    package=PACKAGE,
    label="Retro Music",
    icon="music",
    color="#7B1FA2",
    activities=(MainActivity,),
    version_name="6.1.0",
    version_code=10_603,
    tables=(SONGS, PLAYLISTS, QUEUE),
    system=False,
    receivers={"android.intent.action.MEDIA_SCANNER_SCAN_FILE": _scanned},
    uses_permissions=("READ_MEDIA_AUDIO", "POST_NOTIFICATIONS"),
    first_run=_FIRST_RUN,
)
