"""Expenses, recipes and calendar events: rows added by forms, and deleted once they are found."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from rlfactory.envs.tasks.android_world.oracles.media import look_at_picture
from rlfactory.envs.tasks.android_world.oracles.moves import (
    Oracle,
    Params,
    choose,
    delete_shown,
    fill,
    pick_time,
    reveal,
    search,
    tap_row,
)
from rlfactory.envs.tasks.phone.flows import notes
from rlfactory.envs.tasks.ui_driver import OracleStuck, UiDriver

EXPENSE: Final = "com.arduia.expense"
BROCCOLI: Final = "com.flauschcode.broccoli"
CALENDAR: Final = "com.simplemobiletools.calendar.pro"
_CATEGORIES: Final = (
    *("", "Others", "Income", "Food", "Housing", "Social", "Entertainment", "Transportation", "Clothes"),
    *("Health Care", "Education", "Donation"),
)
_MAX_OPENED: Final = 5
_SHOWN_FIELDS: Final = ("description", "servings", "preparationTime", "source", "ingredients")
"""Of a recipe, what fits on its page."""


# --- expenses --------------------------------------------------------------------------------------------------------


async def add_expenses(ui: UiDriver, params: Params) -> None:
    await ui.open(EXPENSE)
    for row in params["row_objects"]:
        await ui.tap("New expense")
        await fill(ui, name_field=row["name"], amount_field=f"{row['amount'] / 100:.2f}")
        await choose(ui, "category_field", _CATEGORIES[row["category"]])
        await fill(ui, note_field=row["note"])
        await ui.tap("SAVE")


async def delete_expenses(ui: UiDriver, params: Params) -> None:
    await ui.open(EXPENSE)
    for row in params["row_objects"]:
        when = datetime.fromtimestamp(row["created_date"] / 1000, tz=UTC)
        day = f"{when:%B} {when.day}, {when.year}"
        await search(ui, row["name"])
        await tap_row(ui, row["name"], f"{row['amount'] / 100:,.2f}", day)
        await delete_shown(ui)


async def read_markor(ui: UiDriver, params: Params, *, then: Oracle, name: str) -> None:
    await notes.open_note(ui, name)
    await then(ui, params)


async def read_picture(ui: UiDriver, params: Params, *, then: Oracle, name: str) -> None:
    await look_at_picture(ui, name)
    await then(ui, params)


async def delete_twin(ui: UiDriver, params: Params, *, delete: Oracle) -> None:
    """Delete one of the two rows that are alike."""
    await delete(ui, {**params, "row_objects": params["row_objects"][:1]})


# --- recipes ---------------------------------------------------------------------------------------------------------


async def add_recipes(ui: UiDriver, params: Params) -> None:
    await ui.open(BROCCOLI)
    for row in params["row_objects"]:
        await ui.tap("New recipe")
        await fill(
            ui,
            title_field=row["title"],
            description_field=row["description"],
            servings_field=row["servings"],
            preparation_time_field=row["preparationTime"],
            source_field=row["source"],
            ingredients_field=row["ingredients"],
            directions_field=row["directions"],
        )
        await ui.tap("SAVE")


async def delete_recipes(ui: UiDriver, params: Params) -> None:
    await ui.open(BROCCOLI)
    for row in params["row_objects"]:
        await search(ui, row["title"])
        await _open_recipe(ui, row)
        await delete_shown(ui)


async def _open_recipe(ui: UiDriver, row: dict[str, Any]) -> None:
    """Open the recipe that is like this one in all that its page shows; others may have the same title."""
    await ui.key("BACK")  # the keyboard
    listed = [row[name] for name in ("title", "description", "servings", "preparationTime")]
    wanted = {row[name] for name in _SHOWN_FIELDS if row[name]}
    for index in range(_MAX_OPENED):
        await tap_row(ui, *listed, index=index)
        if wanted <= {node.text for node in ui.tree.walk()}:
            return
        await ui.key("BACK")
    raise OracleStuck(f"no recipe {row['title']} with {wanted}")


# --- calendar --------------------------------------------------------------------------------------------------------


async def open_day(ui: UiDriver, when: datetime) -> None:
    """Show a day of the calendar, which begins in the month of today."""
    await ui.open(CALENDAR)
    month = f"{when:%B %Y}"
    for _ in range(4):
        if ui.sees(month):
            break
        shown = datetime.strptime(ui.find(resource_id="top_value")[0].text, "%B %Y").replace(tzinfo=UTC)
        await ui.tap("Next month" if shown < when else "Previous month")
    await ui.tap(resource_id=f"day_{when.day}")


async def add_event(ui: UiDriver, params: Params) -> None:
    (row,) = params["row_objects"]
    start, end = (datetime.fromtimestamp(row[name], tz=UTC) for name in ("start_ts", "end_ts"))
    await open_day(ui, start)
    await ui.tap("New event")
    await fill(ui, title_field=row["title"], location_field=row["location"], description_field=row["description"])
    await reveal(ui, "start_time_field")
    await ui.tap(resource_id="start_time_field")
    await pick_time(ui, start.hour, start.minute)
    if end.date() != start.date():
        await reveal(ui, "end_date_field")
        await ui.tap(resource_id="end_date_field")
        if end.month != start.month:
            await ui.tap("Next month")
        await ui.tap(resource_id=f"day_{end.day}")
        await ui.tap("OK")
    await reveal(ui, "end_time_field")
    await ui.tap(resource_id="end_time_field")
    await pick_time(ui, end.hour, end.minute)
    repetition = {0: "", 86_400: "Daily", 604_800: "Weekly"}[row["repeat_interval"]]
    if repetition:
        await choose(ui, "repetition_field", repetition)
    await ui.tap("Save")


async def delete_events(ui: UiDriver, params: Params) -> None:
    for row in params["row_objects"]:
        start = datetime.fromtimestamp(row["start_ts"], tz=UTC)
        await open_day(ui, start)
        await tap_row(ui, row["title"], f"{start:%H:%M}")
        await delete_shown(ui)


ORACLES: Final[dict[str, Oracle]] = {
    "ExpenseAddSingle": add_expenses,
    "ExpenseAddMultiple": add_expenses,
    "ExpenseAddMultipleFromMarkor": partial(read_markor, then=add_expenses, name="my_expenses.txt"),
    "ExpenseAddMultipleFromGallery": partial(read_picture, then=add_expenses, name="expenses.jpg"),
    **{f"ExpenseDelete{what}": delete_expenses for what in ("Single", "Multiple", "Multiple2")},
    **{f"ExpenseDeleteDuplicates{n}": partial(delete_twin, delete=delete_expenses) for n in ("", "2")},
    **{f"RecipeDeleteDuplicateRecipes{n}": partial(delete_twin, delete=delete_recipes) for n in ("", "2", "3")},
    "RecipeAddSingleRecipe": add_recipes,
    "RecipeAddMultipleRecipes": add_recipes,
    "RecipeAddMultipleRecipesFromMarkor": partial(read_markor, then=add_recipes, name="recipes.txt"),
    "RecipeAddMultipleRecipesFromMarkor2": partial(read_markor, then=add_recipes, name="recipes.txt"),
    "RecipeAddMultipleRecipesFromImage": partial(read_picture, then=add_recipes, name="recipes.jpg"),
    **{
        f"RecipeDelete{what}": delete_recipes
        for what in (
            *("SingleRecipe", "SingleWithRecipeWithNoise", "MultipleRecipes", "MultipleRecipesWithNoise"),
            "MultipleRecipesWithConstraint",
        )
    },
    **{
        f"SimpleCalendarAdd{what}": add_event
        for what in ("OneEvent", "OneEventInTwoWeeks", "OneEventRelativeDay", "OneEventTomorrow", "RepeatingEvent")
    },
    **{f"SimpleCalendarDelete{what}": delete_events for what in ("OneEvent", "Events", "EventsOnRelativeDay")},
}
