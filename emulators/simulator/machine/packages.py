"""Which packages are installed, what they may do, and which of them run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

FIRST_APP_UID: Final = 10_100
FIRST_PID: Final = 2_001


class UnknownPackageError(ValueError):
    """No such package on this phone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Installed:
    """What the phone remembers about an installed package; immutable, so that snapshots share it."""

    uid: int
    installed_ns: int
    granted: frozenset[str] = frozenset()
    """Full permission names."""
    app_ops: tuple[tuple[str, str], ...] = ()
    """(operation, mode) pairs, sorted."""
    enabled: bool = True


@dataclass(kw_only=True, slots=True)
class PackageState:
    """The changing half of packages: part of the phone's state."""

    installed: dict[str, Installed] = field(default_factory=dict)
    processes: dict[str, int] = field(default_factory=dict)
    """Package -> process id of what runs."""
    next_pid: int = FIRST_PID

    def copy(self) -> PackageState:
        return PackageState(installed=dict(self.installed), processes=dict(self.processes), next_pid=self.next_pid)

    def grant(self, package: str, permission: str) -> None:
        entry = self.entry(package)
        self.installed[package] = replace(entry, granted=entry.granted | {permission})

    def revoke(self, package: str, permission: str) -> None:
        entry = self.entry(package)
        self.installed[package] = replace(entry, granted=entry.granted - {permission})

    def set_app_op(self, package: str, operation: str, mode: str) -> None:
        entry = self.entry(package)
        modes = {**dict(entry.app_ops), operation: mode}
        self.installed[package] = replace(entry, app_ops=tuple(sorted(modes.items())))

    def entry(self, package: str) -> Installed:
        """Raises: UnknownPackageError."""
        try:
            return self.installed[package]
        except KeyError:
            raise UnknownPackageError(f"Unknown package: {package}") from None


def full_class_name(package: str, name: str) -> str:
    return package + name if name.startswith(".") else name


def short_component(package: str, name: str) -> str:
    """Return `package/class` as Android prints it: a class below the package begins with a dot."""
    full = full_class_name(package, name)
    return f"{package}/{full.removeprefix(package)}" if full.startswith(package + ".") else f"{package}/{full}"
