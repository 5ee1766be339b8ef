"""Messages, pictures, recordings, songs and the clipboard: what the apps do with what lies on the phone."""

from __future__ import annotations

import io

import PIL.Image

from rlfactory.emulators.simulator.apps.music.app import PLAYLISTS, QUEUE, SONGS
from rlfactory.emulators.simulator.apps.vlc.app import RELATION
from rlfactory.emulators.simulator.machine.snapshots import SnapshotStore
from rlfactory.emulators.simulator.phone import Phone
from rlfactory.emulators.simulator.wire.console_commands import run_console
from tests.emulators.simulator.conftest import Finger

DOWNLOAD = "/storage/emulated/0/Download"


def test_a_message_comes_in_and_is_answered(phone: Phone, finger: Finger) -> None:
    run_console(phone, SnapshotStore(), "sms send +14155550147 Where are you?")
    finger.open("com.simplemobiletools.smsmessenger", "Priya Raman")
    finger.fill(thread_type_message="On my way, 5 min")
    finger.tap("SMS")
    sent = phone.shell("content query --uri content://sms/sent").stdout.decode()
    assert "address=+14155550147" in sent
    assert "body=On my way, 5 min" in sent


def test_messages_deleted_in_the_database_are_gone_from_the_screen(phone: Phone, finger: Finger) -> None:
    run_console(phone, SnapshotStore(), "sms send +14155550147 Hello")
    database = "/data/data/com.android.providers.telephony/databases/mmssms.db"
    phone.shell(f'sqlite3 {database} "DELETE FROM sms;"')
    finger.open("com.simplemobiletools.smsmessenger")
    assert finger.sees("No stored conversations have been found")
    assert phone.shell("content query --uri content://sms/inbox").stdout == b"No result found.\n"


def test_a_note_is_shared_as_a_message(phone: Phone, finger: Finger) -> None:
    finger.open("net.gsantner.markor", "ideas.txt", "More options", "Share")
    phone.type_text("+14155550147")
    finger.tap("OK", "SMS")
    assert "ukulele" in phone.shell("content query --uri content://sms/sent").stdout.decode()


def test_the_clipboard_is_read_and_written_by_broadcasts(phone: Phone) -> None:
    phone.shell("am broadcast -a clipper.set -e text 'Tracking # 5K'")
    answer = phone.shell("am broadcast -a clipper.get").stdout.decode()
    assert 'Broadcast completed: result=-1, data="Tracking # 5K"' in answer


def test_pictures_are_shown_and_copied(phone: Phone, finger: Finger) -> None:
    red = io.BytesIO()
    PIL.Image.new("RGB", (400, 300), "#FF0000").save(red, "PNG")
    phone.system.files.write("/storage/emulated/0/DCIM/red.png", red.getvalue())
    finger.open("com.simplemobiletools.gallery.pro", "DCIM (2)", "red.png")
    x, y = finger.node(key="photo").bounds.center
    assert tuple(phone.rgb()[y, x]) == (255, 0, 0)
    finger.tap("More options", "Copy to", "Download")
    assert phone.system.files.read(f"{DOWNLOAD}/red.png") == red.getvalue()


def test_what_is_no_picture_harms_nothing(phone: Phone, finger: Finger) -> None:
    phone.system.files.write("/storage/emulated/0/DCIM/broken.jpg", b"\xff\xd8 no picture")
    finger.open("com.simplemobiletools.gallery.pro", "DCIM (2)", "broken.jpg")
    assert phone.rgb().any()


def test_the_camera_takes_one_photo_and_one_video(phone: Phone, finger: Finger) -> None:
    before = phone.system.files.list("/storage/emulated/0/Pictures")
    finger.open("com.android.camera2", "Shutter", "Switch to Video", "Start recording", "Stop recording")
    (photo,) = set(phone.system.files.list("/storage/emulated/0/Pictures")) - set(before)
    PIL.Image.open(io.BytesIO(phone.system.files.read(f"/storage/emulated/0/Pictures/{photo}"))).verify()
    assert any(name.startswith("VID_") for name in phone.system.files.list("/storage/emulated/0/Movies"))


def test_a_recording_is_kept_under_its_name(phone: Phone, finger: Finger) -> None:
    finger.open("com.dimowner.audiorecorder", "Recording", "Stop")
    finger.tap(key="input_name")
    finger.replace("interview.m4a")
    finger.tap("SAVE")
    assert finger.sees("interview.m4a.m4a")


def test_a_drawing_is_saved_under_its_name(phone: Phone, finger: Finger) -> None:
    finger.open("com.simplemobiletools.draw.pro", "Canvas", "Save as")
    finger.tap(key="save_image_filename")
    finger.replace("cat")
    finger.tap("OK")
    PIL.Image.open(io.BytesIO(phone.system.files.read("/storage/emulated/0/Pictures/cat.png"))).verify()


def test_songs_are_queued_and_listed_in_the_order_of_the_taps(phone: Phone, finger: Finger) -> None:
    for name in ("Alpha", "Beta", "Gamma"):
        phone.system.files.write(f"/storage/emulated/0/Music/{name}.mp3", b"no tags")
    finger.open("code.name.monkey.retromusic")
    finger.long_press("Gamma", "Alpha", "More options", "Add to playing queue")
    assert [row["title"] for row in QUEUE.rows(phone.system)] == ["Gamma", "Alpha"]
    finger.long_press("Beta", "Alpha", "Add to playlist", "New playlist\u2026")
    phone.type_text("Calm")
    finger.tap("Create", "Playlists", "Calm", "More options", "Save as file")
    assert [row["playlist_name"] for row in PLAYLISTS.rows(phone.system)] == ["Calm"]
    assert [row["title"] for row in SONGS.rows(phone.system)] == ["Beta", "Alpha"]
    assert phone.system.files.read(f"{DOWNLOAD}/Calm.m3u").startswith(b"#EXTM3U\n#EXTINF:0,")


def test_videos_pushed_later_get_into_playlists(phone: Phone, finger: Finger) -> None:
    finger.open("org.videolan.vlc")
    phone.system.files.make_dirs("/storage/emulated/0/VLCVideos")
    for name in ("one.mp4", "two.mp4"):
        phone.system.files.write(f"/storage/emulated/0/VLCVideos/{name}", b"x")
    finger.open("org.videolan.vlc")
    finger.long_press("two.mp4", "one.mp4", "Add to playlist", "New playlist\u2026")
    phone.type_text("Both")
    finger.tap("Create")
    assert [row["position"] for row in RELATION.rows(phone.system)] == [0, 1]
