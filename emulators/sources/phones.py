"""The phones of a service: what they are to be, and what starts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rlfactory.emulators.simulator.apps.installed import apps_of_new_phones
from rlfactory.emulators.simulator.phone import PhoneConfig
from rlfactory.emulators.sources.attached import AttachedSource
from rlfactory.emulators.sources.direct import DirectSource
from rlfactory.emulators.sources.docker import DockerConfig, DockerSource
from rlfactory.emulators.sources.hosted import ProcessSource
from rlfactory.emulators.sources.kinds import SERVED, SourceKind
from rlfactory.emulators.sources.source import PhoneSource


@dataclass(frozen=True, kw_only=True, slots=True)
class PhonesConfig:
    """The phones of a service, all alike."""

    kind: SourceKind = SourceKind.DIRECT
    phones: int = 4
    spares: int = 1
    """Kept warm beside them."""
    width_px: int = 1080
    height_px: int = 2400
    phones_per_host: int = 16
    """That share a process (`adb`) or a container (`docker`): they fail together, and can be forked into each other."""
    app_files: tuple[Path, ...] = ()
    """Python files of apps for simulated phones, beside those that ship; with `direct` and `adb`."""
    image: str = "rlfactory-simulator"
    """Of the containers, with `docker`; so are the next two."""
    runtime: str = ""
    """Such as gVisor's `runsc`; "" is the engine's default."""
    engine_url: str = ""
    """Of the Docker engine; "": its socket on this machine."""
    serials: tuple[str, ...] = ()
    """Of the phones, with `attached`; so are the next two."""
    adb_port: int = 5037
    """Of the adb server that knows them; 0: one of our own, for serials that are HOST:PORT."""
    discovery: tuple[Path, ...] = ()
    """Folders in which emulators of this machine tell where their gRPC endpoints are."""

    def __post_init__(self) -> None:
        if self.kind not in SERVED:
            raise ValueError(f"no service has phones of kind {self.kind}; there are: {', '.join(SERVED)}")
        for name in ("phones", "spares"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be below 0, got {getattr(self, name)}")
        if (self.kind is SourceKind.ATTACHED) != bool(self.serials):
            raise ValueError("transport attached and serials (--serial) go together")
        if self.app_files and self.kind not in {SourceKind.DIRECT, SourceKind.ADB}:
            raise ValueError(f"apps of a file are for transport direct and adb; with {self.kind} the image has them")
        if self.phones_per_host < 1:
            raise ValueError(f"phones_per_host must be at least 1, got {self.phones_per_host}")
        for name in ("width_px", "height_px"):
            if not 160 <= getattr(self, name) <= 8192:
                raise ValueError(f"{name} must be from 160 to 8192, got {getattr(self, name)}")


def known_packages(config: PhonesConfig) -> frozenset[str] | None:
    """Return the packages of the apps that the phones will have; None: it is for their image, or their owner, to say.

    Raises: DeviceError: an app of `app_files` is broken.
    """
    if config.kind not in {SourceKind.DIRECT, SourceKind.ADB}:
        return None
    return frozenset(app.package for app in apps_of_new_phones(_absolute(config.app_files)))


def phone_source(config: PhonesConfig) -> PhoneSource:
    """Return a source of such phones; none is started yet. Raises: DeviceError: an app of `app_files` is broken."""
    apps = _absolute(config.app_files)
    if apps:
        apps_of_new_phones(apps)
    phone = PhoneConfig(width_px=config.width_px, height_px=config.height_px, app_files=apps)
    match config.kind:
        case SourceKind.DIRECT:
            return DirectSource(phone)
        case SourceKind.ADB:
            return ProcessSource(phone, phones_per_host=config.phones_per_host)
        case SourceKind.DOCKER:
            docker = DockerConfig(
                image=config.image, phones_per_container=config.phones_per_host, runtime=config.runtime
            )
            return DockerSource(phone, replace(docker, engine_url=config.engine_url or docker.engine_url))
        case SourceKind.ATTACHED:
            return AttachedSource(config.serials, adb_port=config.adb_port, discovery=config.discovery)
        case _:
            raise ValueError(f"no service has phones of kind {config.kind}")


def _absolute(paths: Sequence[Path]) -> tuple[str, ...]:
    return tuple(str(path.absolute()) for path in paths)


def discovery_folders(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return where Android's emulators of this user tell of themselves."""
    runtime = environment.get("XDG_RUNTIME_DIR")
    return (*((Path(runtime, "avd/running"),) if runtime else ()), Path.home() / ".android/avd/running")
