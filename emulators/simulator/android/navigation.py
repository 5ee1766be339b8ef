"""Opening, leaving and switching activities, with Android's rules for tasks and the lifecycle calls they bring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from rlfactory.emulators.simulator.android.app import Activity, App, Intent
from rlfactory.emulators.simulator.machine.packages import UnknownPackageError
from rlfactory.emulators.simulator.machine.task_stack import ActivityRecord, Task

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.phone import Phone

LaunchResult = Literal["started", "brought to front"]

MAX_TASKS: Final = 50
MAX_ACTIVITIES_PER_TASK: Final = 100
MAIN: Final = "android.intent.action.MAIN"
_MAX_RESUMES: Final = 16
"""Activities that start another one each time they come to the front would go on for ever."""


class Navigator:
    """Changes the phone's task stack; keeps nothing itself."""

    def __init__(self, phone: Phone) -> None:
        self._phone = phone

    # --- opening -------------------------------------------------------------------------------------------------

    def launch(self, app: App, activity: type[Activity], intent: Intent) -> LaunchResult:
        """Open an activity as a new task, as the launcher and `am start` do.

        A running task of the app comes to the front; unless it was started by the very same plain intent, the
        activity is put on top of it.
        """
        previous = self._top_token()
        self._pause()
        self._start_process(app)
        tasks = self._phone.state.tasks
        task = tasks.task_of(app.package)
        if task is not None:
            tasks.to_front(task)
            root = task.records[0].activity
            same_root = type(root) is activity and _filter_part(root.intent) == _filter_part(intent)
            if same_root and not intent.extras:
                self._foreground_changed(previous)
                return "brought to front"
            self._push(task, app, activity, intent)
        else:
            self._forget_oldest_task()
            tasks.open_task(self._create(app, activity, intent))
            self._phone.state.tasks.front.top.activity.on_create(self._phone.system)
        self._foreground_changed(previous)
        return "started"

    def start(self, app: App, activity: type[Activity], intent: Intent) -> None:
        """Open an activity from the foreground one: on the same task, or as a new one from the home screen."""
        front = self._phone.state.tasks.front
        if front.home or self._phone.state.view.overlay == "recents":
            self.launch(app, activity, intent)
            return
        previous = self._top_token()
        self._pause()
        self._start_process(app)
        self._push(front, app, activity, intent)
        self._foreground_changed(previous)

    # --- leaving -------------------------------------------------------------------------------------------------

    def press_back(self) -> None:
        """The BACK key for the foreground activity: its own handling, else leave it.

        The root activity of a launcher task is kept and its task goes behind the others, as since Android 12.
        """
        front = self._phone.state.tasks.front
        if front.top.activity.on_back(self._phone.system):
            return
        if front.home:
            return
        root_intent = front.records[0].activity.intent
        if len(front.records) == 1 and root_intent.action == MAIN:
            previous = self._top_token()
            self._pause()
            self._phone.state.tasks.to_back(front)
            self._foreground_changed(previous)
        else:
            self.finish()

    def finish(self) -> None:
        """Finish the foreground activity; its task goes with its last one. The home screen cannot be finished."""
        tasks = self._phone.state.tasks
        front = tasks.front
        if front.home and len(front.records) == 1:
            return
        self._pause()
        front.records.pop()
        if not front.records:
            tasks.remove(front)
        self._foreground_changed(None)

    def home(self) -> None:
        """Show the home screen."""
        self._pause()
        tasks = self._phone.state.tasks
        tasks.to_front(tasks.home)
        self._foreground_changed(None)

    # --- tasks ---------------------------------------------------------------------------------------------------

    def show_task(self, task_id: int) -> bool:
        """Bring a task to the front; False when there is no such task."""
        tasks = self._phone.state.tasks
        task = tasks.task(task_id)
        if task is None:
            return False
        previous = self._top_token()
        self._pause()
        tasks.to_front(task)
        self._foreground_changed(previous)
        return True

    def remove_task(self, task_id: int) -> bool:
        """Drop a task from recents; False when there is no such task or it is the home screen."""
        tasks = self._phone.state.tasks
        task = tasks.task(task_id)
        if task is None or task.home:
            return False
        previous = self._top_token()
        tasks.remove(task)
        self._foreground_changed(previous)
        return True

    def force_stop(self, package: str) -> None:
        """End an app's process: its tasks go, and its activities on other apps' tasks too."""
        previous = self._top_token()
        state = self._phone.state
        state.packages.processes.pop(package, None)
        for task in list(state.tasks.tasks):
            if task.home:
                continue
            task.records = [record for record in task.records if record.package != package]
            if task.package == package or not task.records:
                state.tasks.remove(task)
        state.notifications = tuple(note for note in state.notifications if note.package != package)
        self._foreground_changed(previous)

    # --- inside --------------------------------------------------------------------------------------------------

    def boot(self, home: App) -> None:
        """Open the home screen as the first task."""
        self._start_process(home)
        task = self._phone.state.tasks.open_task(self._create(home, home.activities[0], Intent()), home=True)
        task.top.activity.on_create(self._phone.system)
        self._foreground_changed(None)

    def _create(self, app: App, activity: type[Activity], intent: Intent) -> ActivityRecord:
        return self._phone.state.tasks.new_record(app.package, activity(intent=intent))

    def _push(self, task: Task, app: App, activity: type[Activity], intent: Intent) -> None:
        if len(task.records) >= MAX_ACTIVITIES_PER_TASK:
            del task.records[1]
        task.records.append(self._create(app, activity, intent))
        task.top.activity.on_create(self._phone.system)

    def _forget_oldest_task(self) -> None:
        tasks = self._phone.state.tasks
        if len(tasks.tasks) >= MAX_TASKS:
            tasks.remove(next(task for task in tasks.tasks if not task.home))

    def _start_process(self, app: App) -> None:
        packages = self._phone.state.packages
        if app.package not in packages.installed:
            raise UnknownPackageError(f"Unknown package: {app.package}")
        if app.package not in packages.processes:
            packages.processes[app.package] = packages.next_pid
            packages.next_pid += 1
            app.on_launch(self._phone.system)

    def _pause(self) -> None:
        """Tell the foreground activity that it is about to leave."""
        self._phone.state.tasks.front.top.activity.on_pause(self._phone.system)

    def _top_token(self) -> int:
        return self._phone.state.tasks.front.top.token

    def _foreground_changed(self, previous: int | None) -> None:
        """Resume what is in front now, unless it was `previous`, and again if that opened something else."""
        self._phone.state.view.keyboard_open = False
        for _ in range(_MAX_RESUMES):
            top = self._phone.state.tasks.front.top
            if top.token == previous:
                break
            previous = top.token
            top.activity.on_resume(self._phone.system)
            view = self._phone.state.view
            if view.loading and not self._phone.state.tasks.front.home:
                view.loaded_at_ms = self._phone.state.clock.uptime_ms() + view.loading_ms
        self._phone.invalidate()


def _filter_part(intent: Intent) -> tuple[str, str, str]:
    """Return what `Intent.filterEquals` compares."""
    return intent.action, intent.data, intent.mime_type
