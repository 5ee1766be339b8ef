"""System properties, as `getprop` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlfactory.emulators.device.language import LANGUAGE_KEY
from rlfactory.emulators.device.probes import OWN_APPS

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone

MAX_VALUE_CHARS: Final = 92
SDK: Final = 33
ANDROID_VERSION: Final = "13"
_BUILD: Final = "TQ2A.230305.008"
_FINGERPRINT: Final = f"google/oriole/oriole:{ANDROID_VERSION}/{_BUILD}/9601072:userdebug/dev-keys"


def properties(phone: Phone) -> dict[str, str]:
    """Return all properties: what the build says, what the state says, what `setprop` said."""
    built_in = {
        "debug.force_rtl": "false",
        "dev.bootcomplete": "1",
        "gsm.sim.state": "READY",
        "init.svc.adbd": "running",
        "init.svc.bootanim": "stopped",
        "init.svc.surfaceflinger": "running",
        "net.bt.name": "Android",
        "persist.sys.locale": phone.state.settings.get("system", LANGUAGE_KEY, "en-US").partition(",")[0],
        "persist.sys.timezone": phone.state.clock.zone,
        OWN_APPS: " ".join(phone.own_packages),
        "ro.board.platform": "gs101",
        "ro.build.characteristics": "nosdcard",
        "ro.build.display.id": _BUILD,
        "ro.build.fingerprint": _FINGERPRINT,
        "ro.build.id": _BUILD,
        "ro.build.tags": "dev-keys",
        "ro.build.type": "userdebug",
        "ro.build.version.codename": "REL",
        "ro.build.version.release": ANDROID_VERSION,
        "ro.build.version.sdk": str(SDK),
        "ro.build.version.security_patch": "2023-03-05",
        "ro.crypto.state": "encrypted",
        "ro.debuggable": "1",
        "ro.hardware": "oriole",
        "ro.kernel.qemu": "",
        "ro.product.brand": "google",
        "ro.product.cpu.abi": "arm64-v8a",
        "ro.product.cpu.abilist": "arm64-v8a,armeabi-v7a,armeabi",
        "ro.product.device": "oriole",
        "ro.product.locale": "en-US",
        "ro.product.manufacturer": "Google",
        "ro.product.model": phone.config.model,
        "ro.product.name": "oriole",
        "ro.secure": "1",
        "ro.serialno": phone.config.serial,
        "ro.sf.lcd_density": str(phone.config.density),
        "ro.treble.enabled": "true",
        "sys.boot_completed": "1",
        "sys.usb.state": "adb",
        "wifi.interface": "wlan0",
    }
    return {**built_in, **phone.state.properties}
