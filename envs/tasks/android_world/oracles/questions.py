"""Questions: what is asked for is looked up on the screen, then answered in AndroidWorld's own words."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final

from rlfactory.envs.tasks.android_world.oracles.moves import Oracle, Params, joined, rows, search
from rlfactory.envs.tasks.android_world.oracles.records import CALENDAR
from rlfactory.envs.tasks.ui_driver import UiDriver

TASKS: Final = "org.tasks"
TRACKS: Final = "de.dennisguse.opentracks"
JOPLIN: Final = "net.cozic.joplin"


async def titles(ui: UiDriver, params: Params, *, app: str, shown: tuple[str, ...] = ()) -> str:
    """Find each title that is expected in an app's list; `shown` are entries of its menu to be switched on."""
    await ui.open(app)
    for entry in shown:
        await ui.tap("More options")
        await ui.tap(entry)
    for title in dict.fromkeys(params["expected"]):
        await search(ui, title)
        await rows(ui, title)
    return joined(params["expected"])


async def about_title(ui: UiDriver, params: Params, *, app: str, title: str) -> str:
    """Find the row that the question is about."""
    await ui.open(app)
    await search(ui, params[title])
    await rows(ui, params[title])
    return joined(params["expected"])


async def next_meeting(ui: UiDriver, params: Params) -> str:
    when = datetime.fromisoformat(params["expected"][0])
    await ui.open(CALENDAR)
    await search(ui, params["person"])
    await rows(ui, params["person"], f"{when:%B} {when.day}, {when.year}")
    return f"{when:%B} {when.day} {when.year} {when:%H:%M}"


async def looked(ui: UiDriver, params: Params, *, app: str) -> str:
    """Look at the list that the answer is counted from."""
    await ui.open(app)
    await rows(ui)
    return joined(params["expected"])


ORACLES: Final[dict[str, Oracle]] = {
    **{
        f"SimpleCalendar{what}": partial(titles, app=CALENDAR)
        for what in (
            *("EventsOnDate", "AnyEventsOnDate", "EventOnDateAtTime", "EventsInTimeRange", "EventsInNextWeek"),
            *("FirstEventAfterStartTime", "NextEvent"),
        )
    },
    "SimpleCalendarLocationOfEvent": partial(about_title, app=CALENDAR, title="title"),
    "SimpleCalendarNextMeetingWithPerson": next_meeting,
    **{
        f"Tasks{what}": partial(titles, app=TASKS, shown=("Show completed", "Show hidden"))
        for what in (
            *("DueOnDate", "HighPriorityTasks", "HighPriorityTasksDueOnDate", "CompletedTasksForDate"),
            "IncompleteTasksOnDate",
        )
    },
    "TasksDueNextWeek": partial(looked, app=TASKS),
    "NotesIsTodo": partial(about_title, app=JOPLIN, title="title"),
    "NotesRecipeIngredientCount": partial(about_title, app=JOPLIN, title="title"),
    "NotesMeetingAttendeeCount": partial(about_title, app=JOPLIN, title="title"),
    "NotesTodoItemCount": partial(looked, app=JOPLIN),
    "SportsTrackerActivitiesOnDate": partial(titles, app=TRACKS),
    **{
        f"SportsTracker{what}": partial(looked, app=TRACKS)
        for what in (
            *("ActivitiesCountForWeek", "ActivityDuration", "LongestDistanceActivity"),
            *("TotalDurationForCategoryThisWeek", "TotalDistanceForCategoryOverInterval"),
        )
    },
}
