"""pm, appops, bmgr: what is installed and what it may do."""

from __future__ import annotations

import io
import zipfile
from typing import Final

from rlfactory.emulators.simulator.android.app import App
from rlfactory.emulators.simulator.android.system_image import install_app
from rlfactory.emulators.simulator.machine.packages import UnknownPackageError, full_class_name, short_component
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError, Verbs, without_user

table = CommandTable()
_VERBS: Final = Verbs()
_MAX_MANIFEST: Final = 4 * 1024 * 1024


@table.command("pm", reads=lambda args: "-S" in args)
def _pm(context: Context) -> int | None:
    words, commands = context.args[:1] + without_user(context.args[1:]), "list packages, path, clear, grant"
    return _VERBS.run(context, words, f"Package manager (package) commands:\n  {commands}, install, uninstall")


@_VERBS.verb("bg-dexopt-job", "clear-permission-flags", "compile", "install-abandon", "reconcile-secondary-dex-files")
@_VERBS.verb("reset-permissions", "set-home-activity", "set-installer", "set-permission-flags", "trim-caches")
@_VERBS.verb("wait-for-handler")
def _nothing(context: Context, words: list[str]) -> None:
    """Accepted, and without effect on this phone."""


def _installed(context: Context, package: str) -> App:
    app = context.phone.system.app(package)
    if app is None:
        raise UnknownPackageError(f"Unknown package: {package}")
    return app


def _apk(app: App) -> str:
    return f"/system/app/{app.package}/base.apk" if app.system else f"/data/app/{app.package}/base.apk"


# --- looking -------------------------------------------------------------------------------------------------------


@_VERBS.verb("list")
def _list(context: Context, words: list[str]) -> None:
    match words:
        case ["packages" | "package", *options]:
            _list_packages(context, options)
        case ["users", *_]:
            context.line("Users:\n\tUserInfo{0:Owner:c13} running")
        case ["features", *_]:
            context.line("feature:android.hardware.touchscreen\nfeature:android.hardware.wifi")
        case ["instrumentation" | "libraries" | "permission-groups" | "permissions", *_]:
            pass
        case _:
            raise UsageError("Error: unknown list type")


def _list_packages(context: Context, options: list[str]) -> None:
    letters = "".join(option[1:] for option in options if option.startswith("-"))
    filters = [option for option in options if not option.startswith("-")]
    for app in sorted(context.phone.system.apps(), key=lambda app: app.package):
        entry = context.state.packages.entry(app.package)
        skipped = (
            ("3" in letters and app.system)
            or ("s" in letters and not app.system)
            or ("d" in letters and entry.enabled)
            or ("e" in letters and not entry.enabled)
            or not all(text in app.package for text in filters)
        )
        if not skipped:
            name = f"{_apk(app)}={app.package}" if "f" in letters else app.package
            context.line(
                f"package:{name}"
                + (f" versionCode:{app.version_code}" if "--show-versioncode" in options else "")
                + (f" uid:{entry.uid}" if "U" in letters else "")
            )


@_VERBS.verb("path")
def _path(context: Context, words: list[str]) -> int:
    app = context.phone.system.app(words[0]) if words else None
    if app is None:
        return 1
    context.line(f"package:{_apk(app)}")
    return 0


@_VERBS.verb("dump")
def _dump(context: Context, words: list[str]) -> int:
    return context.run(["dumpsys", "package", *words])


@_VERBS.verb("resolve-activity")
def _resolve(context: Context, words: list[str]) -> None:
    """`pm resolve-activity --brief [-a ACTION] [-c CATEGORY] PACKAGE`."""
    names = [word for word in words if not word.startswith("-") and not word.startswith("android.intent.")]
    app = context.phone.system.app(names[-1].partition("/")[0]) if names else None
    if app is None:
        context.line("No activity found")
        return
    component = short_component(app.package, app.activities[0].name)
    if "--brief" in words:
        context.line("priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=true")
    context.line(component)


@_VERBS.verb("query-activities")
def _query_activities(context: Context, words: list[str]) -> None:
    """The launcher's entries; other queries find nothing."""
    wants_launcher = "android.intent.category.LAUNCHER" in words or not words
    apps = [app for app in context.phone.system.apps() if not app.hidden] if wants_launcher else []
    context.line(f"{len(apps)} activities found:")
    for number, app in enumerate(apps):
        name = full_class_name(app.package, app.activities[0].name)
        context.line(f"  Activity #{number}:\n    priority=0 preferredOrder=0 match=0x108000 specificIndex=-1")
        context.line(f"    ActivityInfo:\n      name={name}\n      packageName={app.package}")
        context.line(f"      labelRes=0x0 nonLocalizedLabel={app.label} icon=0x7f0d0000 banner=0x0")


# --- changing ------------------------------------------------------------------------------------------------------


@_VERBS.verb("clear")
def _clear(context: Context, words: list[str]) -> int:
    if not words or context.phone.system.app(words[0]) is None:
        context.line("Failed")
        return 1
    context.phone.system.clear_data(words[0])
    context.phone.invalidate()
    context.line("Success")
    return 0


@_VERBS.verb("grant", "revoke")
def _permission(context: Context, words: list[str]) -> None:
    if len(words) < 2:
        raise UsageError("Error: no permission specified")
    package, permission = words[0], words[1]
    _installed(context, package)
    full = permission if "." in permission else f"android.permission.{permission}"
    packages = context.state.packages
    (packages.grant if context.args[0] == "grant" else packages.revoke)(package, full)


@_VERBS.verb("install")
def _install(context: Context, words: list[str]) -> int:
    """Install a package that this phone knows, from a file or (`-S size`) from standard input."""
    sized, paths = False, []
    pending = list(words)
    while pending:
        word = pending.pop(0)
        if word == "-S":
            sized = True
            pending[:1] = []
        elif word in {"-i", "--abi", "--install-location", "--pkg", "--force-uuid"}:
            pending[:1] = []
        elif not word.startswith("-"):
            paths.append(word)
    if not paths and not sized:
        context.line("Error: must either specify a package size or an APK file")
        return 1
    try:
        data = context.stdin() if sized and not paths else context.read(paths[0])
    except OSError:
        context.line(f"Error: Unable to open file: {paths[0]}")
        return 1
    app = _app_of(context, data)
    if app is None:
        context.line("Failure [INSTALL_FAILED_INVALID_APK: this phone does not know the package in it]")
        return 1
    if app.package not in context.state.packages.installed:
        install_app(context.phone, app)
        context.phone.invalidate()
    if {"-g", "-rg", "-tg", "-rtg"} & set(words):
        for permission in app.uses_permissions:
            context.state.packages.grant(app.package, f"android.permission.{permission}")
    context.line("Success")
    return 0


def _app_of(context: Context, apk: bytes) -> App | None:
    """Find the known package that an apk's manifest names (binary XML keeps strings as UTF-16 or UTF-8)."""
    try:
        with zipfile.ZipFile(io.BytesIO(apk)) as archive, archive.open("AndroidManifest.xml") as member:
            manifest = member.read(_MAX_MANIFEST)
    except (zipfile.BadZipFile, KeyError, OSError, RuntimeError, NotImplementedError, ValueError):
        return None
    matches = [
        app
        for app in context.phone.catalog.apps
        if app.package.encode("utf-16-le") in manifest or app.package.encode() in manifest
    ]
    return max(matches, key=lambda app: len(app.package), default=None)


@_VERBS.verb("uninstall")
def _uninstall(context: Context, words: list[str]) -> int:
    names = [word for word in words if not word.startswith("-")]
    app = context.phone.system.app(names[0]) if names else None
    if app is None or app.system:
        context.line("Failure [DELETE_FAILED_INTERNAL_ERROR]")
        return 1
    context.phone.navigator.force_stop(app.package)
    del context.state.packages.installed[app.package]
    for folder in (f"/data/data/{app.package}", f"/data/app/{app.package}"):
        if context.files.exists(folder):
            context.files.remove(folder, recursive=True)
    context.phone.invalidate()
    context.line("Success")
    return 0


@_VERBS.verb("enable", "disable", "disable-user", "default-state")
def _enable(context: Context, words: list[str]) -> None:
    package = words[0].partition("/")[0] if words else ""
    _installed(context, package)
    state = {"enable": "enabled", "default-state": "default"}.get(context.args[0], "disabled-user")
    context.line(f"Package {package} new state: {state}")


@table.command("appops")
def _appops(context: Context) -> None:
    match without_user(context.args):
        case ["set", package, operation, mode]:
            _installed(context, package)
            context.state.packages.set_app_op(package, operation, mode)
        case ["get", package]:
            for operation, mode in context.state.packages.entry(package).app_ops:
                context.line(f"{operation}: {mode}")
        case ["get", package, operation]:
            kept = dict(context.state.packages.entry(package).app_ops).get(operation)
            context.line(f"{operation}: {kept}" if kept else "No operations.")
        case ["reset", *_]:
            pass
        case _:
            raise UsageError("usage: appops set|get|reset PACKAGE [OP [MODE]]")


@table.command("bmgr")
def _bmgr(context: Context) -> None:
    if context.args[:1] == ["enabled"]:
        context.line("Backup Manager currently disabled")
