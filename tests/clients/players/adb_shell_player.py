"""A job done through adb-shell, which speaks the transport itself: `adb_shell_player.py FOLDER` with ADB_PORT set."""

import json
import os
import sys
from pathlib import Path

from adb_shell.adb_device import AdbDeviceTcp

NAME = "Ädb Shell"


def main(folder: Path) -> None:
    device = AdbDeviceTcp("127.0.0.1", int(os.environ["ADB_PORT"]), default_transport_timeout_s=20)
    device.connect()
    device.push(str(folder / "sent.txt"), "/sdcard/Download/sent.txt")
    device.pull("/sdcard/Download/sent.txt", str(folder / "back.txt"))
    device.push(str(folder / "app.apk"), "/data/local/tmp/app.apk")
    installed = device.shell("pm install -r -g /data/local/tmp/app.apk")
    device.shell(f"am start -a android.intent.action.INSERT -t vnd.android.cursor.dir/contact -e name '{NAME}'")
    tree = device.shell("uiautomator dump /sdcard/window_dump.xml && cat /sdcard/window_dump.xml")
    picture = device.exec_out("screencap -p", decode=False)
    lines = "".join(device.streaming_shell("ls /sdcard/Download"))
    device.shell("am force-stop com.google.android.contacts")
    names = [entry.filename.decode() for entry in device.list("/sdcard/Download")]
    size = device.stat("/sdcard/Download/sent.txt")[1]
    told = {
        "installed": "Success" in installed,
        "size": size == (folder / "sent.txt").stat().st_size,
        "listed": "sent.txt" in names and "sent.txt" in lines,
        "seen": "Ädb" in tree,
        "picture": picture.startswith(b"\x89PNG") and picture.endswith(b"IEND\xaeB`\x82"),
        "stopped": "com.google.android.contacts" not in device.shell("dumpsys activity top"),
    }
    device.close()
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
