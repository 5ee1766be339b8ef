"""am and monkey: starting, stopping and listing activities; broadcasts."""

from __future__ import annotations

import random
from typing import Final

from rlfactory.emulators.simulator.android.app import Activity, App, Intent
from rlfactory.emulators.simulator.android.catalog import UnknownComponentError
from rlfactory.emulators.simulator.machine.packages import short_component
from rlfactory.emulators.simulator.machine.task_stack import Task
from rlfactory.emulators.simulator.shell.commands.android.intents import IntentArguments, parse_intent
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError, Verbs

table = CommandTable()
_VERBS: Final = Verbs()
_MAX_MONKEY_EVENTS: Final = 1_000


@table.command("am")
def _am(context: Context) -> int | None:
    commands = "start, broadcast, force-stop, kill, stack list"
    return _VERBS.run(context, context.args, f"Activity manager (activity) commands:\n  {commands}")


@_VERBS.verb("clear-debug-app", "compat", "dumpheap", "get-config", "idle-maintenance", "instrument", "profile")
@_VERBS.verb("send-trim-memory", "set-debug-app", "set-inactive", "start-user", "switch-user", "unlock-user")
@_VERBS.verb("wait-for-broadcast-idle")
def _nothing(context: Context, words: list[str]) -> None:
    """Accepted, and without effect on this phone."""


def _package(words: list[str]) -> str:
    names = [word for at, word in enumerate(words) if not word.startswith("--") and words[at - 1 : at] != ["--user"]]
    if not names:
        raise UsageError('Argument expected after "force-stop"')
    return names[0]


@_VERBS.verb("startservice", "start-service", "start-foreground-service", "stopservice")
def _service(context: Context, words: list[str]) -> None:
    context.line(f"Starting service: {parse_intent(words)}")


@_VERBS.verb("get-current-user")
def _current_user(context: Context, words: list[str]) -> None:
    context.line("0")


@_VERBS.verb("force-stop", "stop-app")
def _force_stop(context: Context, words: list[str]) -> None:
    _overlay_closed(context)
    context.phone.navigator.force_stop(_package(words))


@_VERBS.verb("kill")
def _kill(context: Context, words: list[str]) -> None:
    """End a process in the background; the foreground app is left alone."""
    package = _package(words)
    if context.state.tasks.front.top.package != package:
        context.phone.navigator.force_stop(package)


@_VERBS.verb("kill-all")
def _kill_all(context: Context, words: list[str]) -> None:
    tasks = context.state.tasks
    for package in list(context.state.packages.processes):
        if package not in {tasks.front.top.package, tasks.home.package}:
            context.phone.navigator.force_stop(package)


# --- start ---------------------------------------------------------------------------------------------------------


@_VERBS.verb("start", "start-activity")
def _start(context: Context, words: list[str]) -> int:
    arguments = parse_intent(words)
    context.line(f"Starting: {arguments}")
    target = _resolved(context, arguments)
    if target is None:
        if arguments.component:
            context.line(f"Error type 3\nError: Activity class {{{arguments.component}}} does not exist.")
        else:
            context.line(f"Error: Activity not started, unable to resolve {arguments}")
        return 1
    app, activity = target
    navigator = context.phone.navigator
    if arguments.stop_first:
        context.line(f"Stopping: {app.package}")
        navigator.force_stop(app.package)
    cold = app.package not in context.state.packages.processes
    _overlay_closed(context)
    result = navigator.launch(app, activity, arguments.intent)
    if result == "brought to front":
        context.line("Warning: Activity not started, its current task has been brought to the front")
    if arguments.wait:
        milliseconds = 412 if cold else 96
        component = context.state.tasks.front.top.component
        context.line(f"Status: ok\nLaunchState: {'COLD' if cold else 'HOT'}\nActivity: {component}")
        context.line(f"TotalTime: {milliseconds}\nWaitTime: {milliseconds + 4}\nComplete")
    return 0


def _overlay_closed(context: Context) -> None:
    """Whatever is started from outside shows at once: shade and recents go."""
    context.state.view.overlay = ""
    context.phone.invalidate()


def _resolved(context: Context, arguments: IntentArguments) -> tuple[App, type[Activity]] | None:
    catalog, packages = context.phone.catalog, context.state.packages
    if arguments.component:
        try:
            app, activity = catalog.component(arguments.component)
        except UnknownComponentError:
            return None
        return (app, activity) if app.package in packages.installed else None
    launches = arguments.action in {"", "android.intent.action.MAIN"} and not arguments.data
    if launches and "android.intent.category.HOME" in arguments.categories:
        return catalog.component(context.state.tasks.home.records[0].full_component)
    if launches and arguments.package:
        named = catalog.app(arguments.package)
        return (named, named.activities[0]) if named and named.package in packages.installed else None
    handler = catalog.handler(arguments.intent, packages)
    if handler and arguments.package and handler[0].package != arguments.package:
        return None
    return handler


# --- broadcast -----------------------------------------------------------------------------------------------------


@_VERBS.verb("broadcast")
def _broadcast(context: Context, words: list[str]) -> None:
    arguments = parse_intent(words)
    context.line(f"Broadcasting: {arguments}")
    code, data = 0, None
    for app, receiver in context.phone.catalog.receivers(arguments.action, context.state.packages):
        wanted = arguments.component.partition("/")[0] or arguments.package
        if wanted and wanted != app.package:
            continue
        result = receiver(context.phone.system, arguments.intent)
        code, data = result.code, result.data
    context.phone.invalidate()
    context.line(f"Broadcast completed: result={code}" + ("" if data is None else f', data="{data}"'))


# --- tasks ---------------------------------------------------------------------------------------------------------


@_VERBS.verb("stack", "task")
def _stack(context: Context, words: list[str]) -> int:
    navigator = context.phone.navigator
    match words:
        case ["list"] | ["info", *_]:
            for task in reversed(context.state.tasks.tasks):
                context.out(_task_text(context, task))
            return 0
        case ["remove", number] if number.isdigit() and len(number) < 10:
            navigator.remove_task(int(number))
            return 0
        case ["lock" | "resizeable" | "resize" | "move-task" | "positiontask" | "focus", *_]:
            return 0
        case _:
            return context.fail(f"Error: unknown command '{' '.join(words)[:60]}'", 255)


def _task_text(context: Context, task: Task) -> str:
    """Return a task's lines of `am stack list` (Android 13)."""
    phone = context.phone
    width, height = phone.width_px, phone.height_px
    bounds = f"bounds=[0,0][{width},{height}]"
    visible = "true" if task is context.state.tasks.front else "false"
    dp = (width * 160 // phone.density_dpi, height * 160 // phone.density_dpi)
    configuration = (
        f"{{1.0 310mcc260mnc [en_US] ldltr sw{min(dp)}dp w{dp[0]}dp h{dp[1]}dp {phone.density_dpi}dpi nrm long "
        f"{'port' if height > width else 'land'} finger -keyb/v/h -nav/h winConfig={{ mBounds=Rect(0, 0 - {width}, "
        f"{height}) mWindowingMode=fullscreen mActivityType={'home' if task.home else 'standard'} }} s.1}}"
    )
    return (
        f"RootTask id={task.id} {bounds} displayId=0 userId=0\n configuration={configuration}\n"
        f"  taskId={task.id}: {task.records[0].full_component} {bounds} userId=0 visible={visible} "
        f"topActivity=ComponentInfo{{{task.top.full_component}}}\n\n"
    )


# --- monkey --------------------------------------------------------------------------------------------------------


@table.command("monkey")
def _monkey(context: Context) -> int:
    packages, count, seed = _monkey_arguments(context.args)
    apps = [context.phone.system.app(package) for package in packages]
    known = [app for app in apps if app is not None and not app.hidden]
    if packages and not known:
        context.line("** No activities found to run, monkey aborted.")
        return 252
    _overlay_closed(context)
    if known:
        context.phone.navigator.launch(known[0], known[0].activities[0], Intent())
        component = short_component(known[0].package, known[0].activities[0].name)
        context.line(f"  bash arg: -p\n  bash arg: {known[0].package}\n:Switch: {component}")
    rng = random.Random(seed)
    for _ in range(count - 1):
        context.phone.tap(rng.randrange(context.phone.width_px), rng.randrange(context.phone.height_px))
    context.line(f"Events injected: {count}")
    context.line("## Network stats: elapsed time=12ms (0ms mobile, 0ms wifi, 12ms not connected)")
    return 0


def _monkey_arguments(args: list[str]) -> tuple[list[str], int, int]:
    """Return packages, the number of events and the seed."""
    packages: list[str] = []
    count, seed, words = 1, 0, list(args)
    while words:
        word = words.pop(0)
        if word[:2] in {"-p", "-c", "-s"} and not word.startswith("--"):
            value = word[2:] or (words.pop(0) if words else "")
            if word.startswith("-p"):
                packages.append(value)
            elif word.startswith("-s") and value.isdigit():
                seed = int(value)
        elif word == "--throttle" or word.startswith("--pct-"):
            words[:1] = []
        elif word.isdigit():
            count = max(1, int(word)) if len(word) < 7 else _MAX_MONKEY_EVENTS + 1
    if count > _MAX_MONKEY_EVENTS:
        raise UsageError(f"at most {_MAX_MONKEY_EVENTS} events are injected")
    return packages, count, seed
