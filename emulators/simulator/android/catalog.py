"""The apps that a phone knows, and who of them handles an intent."""

from __future__ import annotations

from collections.abc import Sequence

from rlfactory.emulators.simulator.android.app import Activity, App, Intent
from rlfactory.emulators.simulator.android.content import ContentProvider, Receiver
from rlfactory.emulators.simulator.machine.packages import PackageState, full_class_name


class UnknownComponentError(ValueError):
    """No such activity on this phone."""


class Catalog:
    """The apps that this phone knows, whether installed now or not. Shared by forks."""

    def __init__(self, apps: Sequence[App]) -> None:
        """Raises: ValueError: two apps share a package, activity class or provider authority."""
        self.apps = tuple(apps)
        self._by_package: dict[str, App] = {}
        self._owner: dict[type[Activity], App] = {}
        self._component: dict[tuple[str, str], type[Activity]] = {}
        self._provider: dict[str, tuple[App, ContentProvider]] = {}
        for app in self.apps:
            if app.package in self._by_package:
                raise ValueError(f"two apps are called {app.package!r}")
            self._by_package[app.package] = app
            self._index(app)

    def _index(self, app: App) -> None:
        for activity in (*app.activities, *app.filters.values()):
            owner = self._owner.setdefault(activity, app)
            if owner is not app:
                raise ValueError(f"{activity.__name__} belongs to {owner.package!r} and {app.package!r}")
            self._component[app.package, full_class_name(app.package, activity.name)] = activity
        for provider in app.providers:
            for authority in provider.authorities:
                if authority in self._provider:
                    raise ValueError(f"two providers answer for {authority!r}")
                self._provider[authority] = (app, provider)

    def app(self, package: str) -> App | None:
        return self._by_package.get(package)

    def owner(self, activity: type[Activity]) -> App:
        """Raises: UnknownComponentError: no app declares this activity."""
        try:
            return self._owner[activity]
        except KeyError:
            raise UnknownComponentError(f"no app declares {activity.__name__}") from None

    def component(self, name: str) -> tuple[App, type[Activity]]:
        """Return app and activity for `package/class`, the class in full or relative with a dot.

        Raises: UnknownComponentError.
        """
        package, _, class_name = name.partition("/")
        app = self._by_package.get(package)
        activity = self._component.get((package, full_class_name(package, class_name)))
        if app is None or activity is None:
            raise UnknownComponentError(f"Activity class {{{name}}} does not exist.")
        return app, activity

    def handler(self, intent: Intent, installed: PackageState) -> tuple[App, type[Activity]] | None:
        """Return who handles an implicit intent: the most specific filter, apps in catalog order."""
        for key in _filter_keys(intent):
            for app in self.apps:
                if app.package in installed.installed and key in app.filters:
                    return app, app.filters[key]
        return None

    def provider(self, authority: str) -> tuple[App, ContentProvider] | None:
        return self._provider.get(authority)

    def receivers(self, action: str, installed: PackageState) -> list[tuple[App, Receiver]]:
        return [
            (app, app.receivers[action])
            for app in self.apps
            if action in app.receivers and app.package in installed.installed
        ]


def _filter_keys(intent: Intent) -> list[str]:
    """Return the filter texts that match an intent, most specific first."""
    keys = []
    if intent.mime_type:
        kind = intent.mime_type.split("/")[0]
        keys += [f"{intent.action} {intent.mime_type}", f"{intent.action} {kind}/*", f"{intent.action} */*"]
    if intent.data:
        scheme, _, rest = intent.data.partition(":")
        authority = rest.removeprefix("//").split("/")[0] if rest.startswith("//") else ""
        if authority:
            keys.append(f"{intent.action} {scheme}://{authority}")
        keys.append(f"{intent.action} {scheme}:")
    if not intent.mime_type and not intent.data:
        keys.append(intent.action)
    return keys
