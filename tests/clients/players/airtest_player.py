"""A job done through Airtest: `airtest_player.py FOLDER` with ANDROID_ADB_SERVER_PORT and ANDROID_SERIAL set.

Its own servers are native programs; it takes pictures and types by adb, as on phones that refuse them.
"""

import json
import os
import re
import sys
import warnings
from pathlib import Path

from airtest.core.android.android import Android

CONTACTS = "com.google.android.contacts"
DUMP = "uiautomator dump /sdcard/window_dump.xml >/dev/null && cat /sdcard/window_dump.xml"


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    server = ("127.0.0.1", int(os.environ["ANDROID_ADB_SERVER_PORT"]))
    device = Android(serialno=os.environ["ANDROID_SERIAL"], host=server, touch_method="ADBTOUCH")
    width, height = device.get_current_resolution()
    device.install_app(str(folder / "app.apk"), replace=True)
    device.push(str(folder / "sent.txt"), "/sdcard/Download/sent.txt")
    device.pull("/sdcard/Download/sent.txt", str(folder / "back.txt"))
    device.start_app(CONTACTS)
    opened = device.get_top_activity()[0]
    first = device.snapshot()
    device.touch(centre(device, "Create contact"))
    device.touch(centre(device, "First name"))
    device.text("Airtest", enter=False)
    typed = device.snapshot()
    device.touch(centre(device, "Save"))
    device.swipe((width // 2, height * 3 // 4), (width // 2, height // 4))
    device.stop_app(CONTACTS)
    told = {
        "resolution": [width, height] == [360, 800],
        "installed": "net.gsantner.markor" in device.list_app(),
        "opened": opened == CONTACTS,
        "pictures": first.shape == typed.shape == (height, width, 3) and bool((first != typed).any()),
        "stopped": device.get_top_activity()[0] != CONTACTS,
    }
    print(json.dumps(told))


def centre(device: Android, label: str) -> tuple[int, int]:
    """Return the middle of the node with this text or description."""
    found = re.search(rf'="{label}"[^>]*bounds="\[(\d+),(\d+)\]\[(\d+),(\d+)\]"', device.shell(DUMP))
    assert found is not None, label
    left, top, right, bottom = map(int, found.groups())
    return (left + right) // 2, (top + bottom) // 2


if __name__ == "__main__":
    main(Path(sys.argv[1]))
