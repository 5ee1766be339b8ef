"""Broccoli (`com.flauschcode.broccoli`): recipes."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from rlfactory.emulators.simulator.android.app import App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.forms import Field, RecordForm
from rlfactory.emulators.simulator.apps.kit.records import RecordList, RecordPage, facts
from rlfactory.emulators.simulator.apps.kit.rows import bar_button
from rlfactory.emulators.simulator.apps.kit.tables import Record, Table
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "com.flauschcode.broccoli"
RECIPES: Final = Table(
    path=f"/data/data/{PACKAGE}/databases/broccoli",
    name="recipes",
    columns={
        "recipeId": "INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL",
        **dict.fromkeys(
            ("title", "description", "servings", "preparationTime", "source", "ingredients", "directions", "imageName"),
            "TEXT",
        ),
        "favorite": "INTEGER NOT NULL DEFAULT 0",
    },
)
_TEXTS: Final = (
    Field(column="title", label="Title", needed=True),
    Field(column="description", label="Description", kind="lines"),
    Field(column="servings", label="Servings"),
    Field(column="preparationTime", label="Preparation time"),
    Field(column="source", label="Source"),
    Field(column="ingredients", label="Ingredients", kind="lines"),
    Field(column="directions", label="Directions", kind="lines"),
)


class RecipeForm(RecordForm):
    name = ".recipe.crud.CreateAndEditRecipeActivity"
    table, fields, title, save = RECIPES, _TEXTS, ("New recipe", "Edit recipe"), "SAVE"

    def blank(self, system: System) -> dict[str, Any]:
        return {**{name: "" for name in RECIPES.columns if name != "recipeId"}, "favorite": 0}


class RecipePage(RecordPage):
    """Everything about one recipe."""

    name = ".recipe.details.RecipeDetailsActivity"
    table, noun, form = RECIPES, "recipe", RecipeForm

    def title(self, system: System, row: Record) -> str:
        return str(row["title"] or "")

    def content(self, system: System, row: Record) -> tuple[ui.Widget, ...]:
        favorite = bool(row["favorite"])
        flip = partial(RECIPES.update, system, row["recipeId"], {"favorite": int(not favorite)})
        icon, text = ("heart", "Remove from favorites") if favorite else ("heart-outline", "Add to favorites")
        heart = ui.Row(children=(ui.Spacer(weight=1), bar_button("favorite", icon, text, flip)), width="fill")
        return (*facts([(each.label, str(row[each.column] or "")) for each in _TEXTS]), heart)


class MainActivity(RecordList):
    """All recipes, or the favorites."""

    name = ".MainActivity"
    table, label, noun, icon = RECIPES, "Broccoli", "recipe", "chef-hat"
    searched = ("title", "description", "ingredients", "source")
    page, form = RecipePage, RecipeForm
    favorites: bool = False

    def rows(self, system: System) -> tuple[Record, ...]:
        wanted = "WHERE favorite = 1" if self.favorites else ""
        return RECIPES.rows(system, f"{wanted} ORDER BY title COLLATE NOCASE, recipeId")

    def item(self, system: System, row: Record) -> ui.ListItem:
        return ui.ListItem(
            title=row["title"] or "",
            subtitle="  \u00b7  ".join(filter(None, (row["description"], row["servings"], row["preparationTime"]))),
            leading=ui.Avatar(letter=(row["title"] or "?")[:1].upper(), color="#558B2F"),
            trailing=ui.Icon(icon="heart", color="#C62828", size=18) if row["favorite"] else None,
        )

    def menu(self, system: System) -> tuple[ui.Action, ...]:
        def show(favorites: bool) -> None:
            self.favorites, self.open = favorites, ""

        return (
            ui.Action(text="All recipes", icon="food", on_tap=partial(show, False)),
            ui.Action(text="Favorites", icon="heart-outline", on_tap=partial(show, True)),
        )


BROCCOLI = App(
    package=PACKAGE,
    label="Broccoli",
    icon="chef-hat",
    color="#558B2F",
    activities=(MainActivity, RecipePage, RecipeForm),
    version_name="1.2.6",
    version_code=1_020_600,
    tables=(RECIPES,),
    system=False,
)
