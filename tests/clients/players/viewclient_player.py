"""A job done through AndroidViewClient: `viewclient_player.py` with ANDROID_ADB_SERVER_PORT and ANDROID_SERIAL set.

It can neither send files nor install.
"""

import json
import os
import sys

from com.dtmilano.android.viewclient import ViewClient

CONTACTS = "com.google.android.contacts"


def main() -> None:
    device, serial = ViewClient.connectToDeviceOrExit(serialno=os.environ["ANDROID_SERIAL"])
    client = ViewClient(device, serial)
    device.startActivity(f"{CONTACTS}/com.android.contacts.activities.PeopleActivity")
    opened = device.getTopActivityName()
    client.dump(sleep=0)
    client.findViewWithContentDescriptionOrRaise("Create contact").touch()
    client.dump(sleep=0)
    client.findViewWithTextOrRaise("First name").touch()
    device.type("Viewclient")
    client.dump(sleep=0)
    typed = client.findViewWithText("Viewclient") is not None
    picture = device.takeSnapshot(reconnect=True)
    client.findViewWithTextOrRaise("Save").touch()
    device.drag((180, 700), (180, 300), 300)
    device.press("HOME")
    device.forceStop(CONTACTS)
    told = {
        "opened": opened.startswith(CONTACTS),
        "model": device.getProperty("ro.product.model") == "Pixel 6",
        "size": [device.display["width"], device.display["height"]] == [360, 800],
        "typed": typed,
        "picture": picture.size == (360, 800),
        "stopped": not device.getTopActivityName().startswith(CONTACTS),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    sys.argv = sys.argv[:1]  # its own parser reads them
    main()
