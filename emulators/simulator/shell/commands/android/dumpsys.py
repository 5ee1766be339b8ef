"""dumpsys: the lines of each service that clients read."""

from __future__ import annotations

from typing import Final

from rlfactory.emulators.simulator.machine.clock import zone_info
from rlfactory.emulators.simulator.machine.task_stack import ActivityRecord, Task
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, Verbs
from rlfactory.emulators.simulator.shell.commands.files.naming import local_time

table = CommandTable()
_SERVICES: Final = Verbs()
_ROTATIONS: Final = ("ROTATION_0", "ROTATION_90", "ROTATION_180", "ROTATION_270")


def _hash(number: int) -> str:
    """Return an object address as dumps show them, the same on every run."""
    return f"{number * 2_654_435_761 % 0xFFFFFFF:x}"


def _record(record: ActivityRecord, task: Task) -> str:
    return f"ActivityRecord{{{_hash(record.token)} u0 {record.component} t{task.id}}}"


def _focused_window(context: Context) -> str:
    view, task = context.state.view, context.state.tasks.front
    if view.overlay == "shade":
        return f"Window{{{_hash(1)} u0 NotificationShade}}"
    top = context.state.tasks.home.top if view.overlay == "recents" else task.top
    return f"Window{{{_hash(top.token)} u0 {top.full_component}}}"


# --- window, activity ----------------------------------------------------------------------------------------------


@_SERVICES.verb("window")
def _window(context: Context, words: list[str]) -> None:
    front = context.state.tasks.front
    shown = context.state.view.keyboard_open
    if words[:1] in ([], ["windows"], ["-a"], ["w"]):
        context.line("WINDOW MANAGER WINDOWS (dumpsys window windows)")
        for task in reversed(context.state.tasks.tasks):
            context.line(f"  Window #{task.id} Window{{{_hash(task.top.token)} u0 {task.top.full_component}}}:")
            context.line(f"    mDisplayId=0 rootTaskId={task.id} mOwnerUid=0 package={task.top.package}")
            context.line(f"    isOnScreen={'true' if task is front else 'false'}")
    if words[:1] in ([], ["policy"], ["p"]):
        awake = "true" if context.state.view.screen_on else "false"
        context.line(
            f"WINDOW MANAGER POLICY STATE (dumpsys window policy)\n    mAwake={awake}\n    mShowingLockscreen=false"
        )
        context.line(f"    screenState=SCREEN_STATE_{'ON' if context.state.view.screen_on else 'OFF'}")
    context.line(f"  mCurrentFocus={_focused_window(context)}")
    context.line(f"  mFocusedApp={_record(front.top, front)}")
    context.line(f"  mInputMethodWindow={'Window{' + _hash(2) + ' u0 InputMethod}' if shown else 'null'}")
    context.line(f"  mCurrentRotation={_ROTATIONS[context.state.display.rotation]}")
    if words[:1] in ([], ["displays"], ["d"]):
        size = f"{context.phone.width_px}x{context.phone.height_px}"
        context.line("WINDOW MANAGER DISPLAY CONTENTS (dumpsys window displays)\n  Display: mDisplayId=0")
        context.line(f"    init={size} cur={size} app={size}")


@_SERVICES.verb("activity")
def _activity(context: Context, words: list[str]) -> None:
    match words[:1]:
        case ["recents"]:
            _recents(context)
        case ["top"]:
            _top(context)
        case ["broadcasts" | "services" | "providers" | "processes" | "p", *_]:
            context.line(f"ACTIVITY MANAGER {words[0].upper()} (dumpsys activity {words[0]})")
            for package, pid in sorted(context.state.packages.processes.items()):
                context.line(f"  *APP* ProcessRecord{{{_hash(pid)} {pid}:{package}/u0a0}}")
        case _:
            _activities(context)


def _activities(context: Context) -> None:
    tasks = context.state.tasks
    context.line(
        "ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)\nDisplay #0 (activities from top to bottom):"
    )
    for task in reversed(tasks.tasks):
        context.line(
            f"  * Task{{{_hash(task.id)} #{task.id} type={'home' if task.home else 'standard'} A={task.package}}}"
        )
        for number, record in reversed(list(enumerate(task.records))):
            context.line(f"    * Hist  #{number}: {_record(record, task)}")
    resumed = tasks.home if context.state.view.overlay == "recents" else tasks.front
    context.line(f"  mResumedActivity: {_record(resumed.top, resumed)}")
    context.line(f"  topResumedActivity={_record(resumed.top, resumed)}")
    context.line(f"  ResumedActivity: {_record(resumed.top, resumed)}")


def _recents(context: Context) -> None:
    context.line("ACTIVITY MANAGER RECENT TASKS (dumpsys activity recents)\n  Recent tasks:")
    for number, task in enumerate(context.state.tasks.recents()):
        context.line(f"  * Recent #{number}: Task{{{_hash(task.id)} #{task.id} type=standard A={task.package} U=0}}")
        context.line(f"    userId=0 id={task.id} mUserSetupComplete=true")
        context.line(f"    baseIntent=Intent {{ act=android.intent.action.MAIN cmp={task.records[0].component} }}")


def _top(context: Context) -> None:
    for task in context.state.tasks.tasks:
        pid = context.state.packages.processes.get(task.top.package, 0)
        context.line(f"TASK {task.package} id={task.id} userId=0")
        context.line(f"  ACTIVITY {task.top.component} {_hash(task.top.token)} pid={pid}")


# --- display, input, power -----------------------------------------------------------------------------------------


@_SERVICES.verb("display")
def _display(context: Context, words: list[str]) -> None:
    config, rotation = context.phone.config, context.state.display.rotation
    width, height = context.phone.width_px, context.phone.height_px
    on = "ON" if context.state.view.screen_on else "OFF"
    context.line(
        f"DISPLAY MANAGER (dumpsys display)\n  mGlobalDisplayState={on}\n  mStableDisplaySize=Point({width}, {height})"
    )
    context.line(
        f"  mViewports=[DisplayViewport{{type=INTERNAL, valid=true, isActive=true, displayId=0, uniqueId='local:0', "
        f"physicalPort=0, orientation={rotation}, logicalFrame=Rect(0, 0 - {width}, {height}), "
        f"physicalFrame=Rect(0, 0 - {width}, {height}), deviceWidth={config.width_px}, "
        f"deviceHeight={config.height_px}}}]"
    )
    context.line(
        f"  mBaseDisplayInfo=DisplayInfo{{real {width} x {height}, density {context.phone.density_dpi}, state {on}}}"
    )


@_SERVICES.verb("input")
def _input(context: Context, words: list[str]) -> None:
    rotation = context.state.display.rotation
    width, height = context.phone.width_px, context.phone.height_px
    context.out(
        f"INPUT MANAGER (dumpsys input)\n\nInput Reader State:\n  Device 2: virtio_input_multi_touch_1\n"
        f"    Touch Input Mapper (mode - direct):\n      Viewport INTERNAL: displayId=0, orientation={rotation}, "
        f"logicalFrame=[0, 0, {width}, {height}], physicalFrame=[0, 0, {width}, {height}], "
        f"deviceSize=[{width}, {height}]\n      RawSurfaceWidth: {width}px\n      RawSurfaceHeight: {height}px\n"
        f"      PhysicalWidth: {width}px\n      PhysicalHeight: {height}px\n      SurfaceOrientation: {rotation}\n"
        f"      InputDeviceOrientation: {rotation}\n\nInput Dispatcher State:\n  DispatchEnabled: true\n"
        f"  FocusedWindows:\n    displayId=0, name='{context.state.tasks.front.top.full_component}'\n"
    )


@_SERVICES.verb("input_method")
def _input_method(context: Context, words: list[str]) -> None:
    shown = "true" if context.state.view.keyboard_open else "false"
    context.line("Current Input Method Manager state:")
    context.line(f"  mCurMethodId={context.state.settings.get('secure', 'default_input_method')}")
    context.line(f"  mInputShown={shown}\n  mIsInputViewShown={shown}")


@_SERVICES.verb("power")
def _power(context: Context, words: list[str]) -> None:
    on = context.state.view.screen_on
    context.line(f"POWER MANAGER (dumpsys power)\n  mWakefulness={'Awake' if on else 'Asleep'}\n  mIsPowered=true")
    context.line(
        f"  mHoldingDisplaySuspendBlocker={'true' if on else 'false'}\nDisplay Power: state={'ON' if on else 'OFF'}"
    )


@_SERVICES.verb("battery")
def _battery(context: Context, words: list[str]) -> None:
    if words:
        return
    context.line(
        "Current Battery Service state:\n  AC powered: true\n  USB powered: false\n  Wireless powered: false\n"
        "  Dock powered: false\n  Max charging current: 0\n  Charge counter: 10000\n  status: 4\n  health: 2\n"
        "  present: true\n  level: 100\n  scale: 100\n  voltage: 5000\n  temperature: 250\n  technology: Li-ion"
    )


# --- packages and the rest -----------------------------------------------------------------------------------------


@_SERVICES.verb("package")
def _package(context: Context, words: list[str]) -> None:
    names = [word for word in words if not word.startswith("-")]
    apps = context.phone.system.apps() if not names else [context.phone.system.app(names[0])]
    for app in apps:
        if app is None:
            context.line(f"Unable to find package: {names[0]}")
            return
        entry = context.state.packages.entry(app.package)
        installed = f"{local_time(entry.installed_ns, zone_info('UTC')):%Y-%m-%d %H:%M:%S}"
        flags = ("SYSTEM " if app.system else "") + "HAS_CODE ALLOW_CLEAR_USER_DATA ALLOW_BACKUP"
        folder = f"/system/app/{app.package}" if app.system else f"/data/app/{app.package}"
        context.line(f"Packages:\n  Package [{app.package}] ({_hash(entry.uid)}):\n    userId={entry.uid}")
        context.line(f"    codePath={folder}\n    versionCode={app.version_code} minSdk=24 targetSdk=33")
        context.line(f"    versionName={app.version_name}\n    pkgFlags=[ {flags} ]")
        context.line(f"    dataDir=/data/user/0/{app.package}\n    timeStamp={installed}")
        context.line(f"    firstInstallTime={installed}\n    lastUpdateTime={installed}")
        context.line(
            f"    signatures=PackageSignatures{{{_hash(entry.uid)} version:3, signatures:[{_hash(entry.uid + 1)}]}}"
        )
        context.line("    User 0: ceDataInode=1 installed=true hidden=false suspended=false stopped=false enabled=0")
        context.line("      runtime permissions:")
        for permission in sorted(entry.granted):
            context.line(f"        {permission}: granted=true, flags=[ USER_SET ]")


@_SERVICES.verb("telephony.registry")
def _telephony(context: Context, words: list[str]) -> None:
    context.line(
        f"last known state:\n  Phone Id=0\n    mCallState={context.state.call_state}\n    mCallIncomingNumber="
    )


@_SERVICES.verb("notification")
def _notification(context: Context, words: list[str]) -> None:
    context.line("Current Notification Manager state:\n  Notification List:")
    for note in context.state.notifications:
        context.line(
            f"    NotificationRecord(0x{_hash(note.id)}: pkg={note.package} user=UserHandle{{0}} id={note.id})"
        )
        context.line(f"      android.title=String ({note.title})\n      android.text=String ({note.text})")


@_SERVICES.verb("wifi")
def _wifi(context: Context, words: list[str]) -> None:
    context.line(f"Wi-Fi is {'enabled' if context.state.settings.flag('global', 'wifi_on') else 'disabled'}")


@_SERVICES.verb("bluetooth_manager")
def _bluetooth(context: Context, words: list[str]) -> None:
    on = context.state.settings.flag("global", "bluetooth_on")
    context.line(f"Bluetooth Status\n  enabled: {'true' if on else 'false'}\n  state: {'ON' if on else 'OFF'}")


@_SERVICES.verb("meminfo")
def _memory(context: Context, words: list[str]) -> None:
    context.line(
        "Applications Memory Usage (in Kilobytes):\n  Total RAM: 8,134,528K (status normal)\n  Free RAM: 4,412,976K"
    )


@_SERVICES.verb("SurfaceFlinger", "alarm", "audio", "batterystats", "connectivity", "cpuinfo", "deviceidle", "gfxinfo")
@_SERVICES.verb("location", "usagestats")
def _quiet(context: Context, words: list[str]) -> None:
    """A service that has nothing to say."""


@table.command("dumpsys")
def _dumpsys(context: Context) -> int | None:
    words = list(context.args)
    while words and words[0] in {"-t", "-T"}:
        words = words[2:]
    if not words or words[0] == "-l":
        context.line("Currently running services:\n  " + "\n  ".join(sorted(_SERVICES)))
        return 0
    service = _SERVICES.get(words[0])
    if service is None:
        return context.complain(f"Can't find service: {words[0]}")
    return service(context, words[1:])
