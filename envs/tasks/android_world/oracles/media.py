"""Pictures, songs and videos."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rlfactory.envs.tasks.android_world.oracles.moves import Oracle, Params
from rlfactory.envs.tasks.phone.flows import notes
from rlfactory.envs.tasks.phone.flows.common import find
from rlfactory.envs.tasks.ui_driver import UiDriver

GALLERY: Final = "com.simplemobiletools.gallery.pro"
MUSIC: Final = "code.name.monkey.retromusic"
VLC: Final = "org.videolan.vlc"


async def look_at_picture(ui: UiDriver, name: str) -> None:
    """Open a picture of DCIM."""
    await ui.open(GALLERY)
    await ui.tap("DCIM (")
    await find(ui, name)
    await ui.tap(name)


async def copy_receipt(ui: UiDriver, params: Params) -> None:
    await look_at_picture(ui, params["file_name"])
    await ui.tap("More options")
    await ui.tap("Copy to")
    await ui.tap("Download")


async def transcribe_receipt(ui: UiDriver, params: Params) -> None:
    await look_at_picture(ui, "receipt.png")
    await notes.create(ui, params["file_name"], params["text"])


# --- players ---------------------------------------------------------------------------------------------------------


async def _select(ui: UiDriver, app: str, titles: Sequence[str]) -> None:
    """Open a player and select these media in their order."""
    await ui.open(app)
    await find(ui, titles[0])
    await ui.long_press(titles[0])
    for title in titles[1:]:
        await find(ui, title)
        await ui.tap(title)


async def _make_playlist(ui: UiDriver, app: str, name: str, titles: Sequence[str]) -> None:
    await _select(ui, app, titles)
    await ui.tap("Add to playlist")
    await ui.tap("New playlist\u2026")
    await ui.type(name, into="playlist_name")
    await ui.tap("Create")


def _songs(params: Params) -> list[str]:
    return [file.split(".")[0] for file in params["files"]]


async def create_playlist(ui: UiDriver, params: Params) -> None:
    await _make_playlist(ui, MUSIC, params["playlist_name"], _songs(params))


async def queue(ui: UiDriver, params: Params) -> None:
    await _select(ui, MUSIC, _songs(params))
    await ui.tap("More options")
    await ui.tap("Add to playing queue")


async def save_playlist(ui: UiDriver, params: Params) -> None:
    await create_playlist(ui, params)
    await ui.tap("Playlists")
    await ui.tap(params["playlist_name"])
    await ui.tap("More options")
    await ui.tap("Save as file")


async def create_video_playlist(ui: UiDriver, params: Params) -> None:
    await _make_playlist(ui, VLC, params["playlist_name"], params["files"])


async def create_two_playlists(ui: UiDriver, params: Params) -> None:
    for number in (1, 2):
        await _make_playlist(ui, VLC, params[f"playlist_name{number}"], params[f"files{number}"])


ORACLES: Final[dict[str, Oracle]] = {
    "SaveCopyOfReceiptTaskEval": copy_receipt,
    "MarkorTranscribeReceipt": transcribe_receipt,
    "RetroCreatePlaylist": create_playlist,
    "RetroPlaylistDuration": create_playlist,
    "RetroPlayingQueue": queue,
    "RetroSavePlaylist": save_playlist,
    "VlcCreatePlaylist": create_video_playlist,
    "VlcCreateTwoPlaylists": create_two_playlists,
}
