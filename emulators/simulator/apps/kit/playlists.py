"""A player's library: media in a list, selected in the order of the taps, put into playlists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import partial
from typing import ClassVar

from rlfactory.emulators.simulator.android.app import Activity
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.dialogs import message_dialog, prompt_dialog
from rlfactory.emulators.simulator.apps.kit.first_run import FirstRun
from rlfactory.emulators.simulator.apps.kit.media import Media
from rlfactory.emulators.simulator.apps.kit.rows import bar_button, empty_state, more_button, plural, row
from rlfactory.emulators.simulator.view import widgets as ui


class LibraryActivity(Activity):
    """Two tabs, media and playlists. Subclasses say where both are kept."""

    label: ClassVar[str]
    color: ClassVar[str]
    noun: ClassVar[str]
    """What a medium is called: "song"."""
    icon: ClassVar[str]
    first_run: ClassVar[FirstRun]

    tab: int = 0
    selected: list[str] = field(default_factory=list)
    """Paths, in the order in which they were tapped."""
    playlist: int = 0
    """Key of the playlist that is shown, 0 for none."""
    open: str = ""
    """Which dialog or menu is open: "add", "name", "more", "" for none."""
    draft: str = ""

    # --- for subclasses ----------------------------------------------------------------------------------------------

    def media(self, system: System) -> Sequence[Media]:
        raise NotImplementedError

    def playlists(self, system: System) -> Sequence[tuple[int, str]]:
        """Return key and name of each."""
        raise NotImplementedError

    def entries(self, system: System, playlist: int) -> Sequence[tuple[str, str]]:
        """Return title and length of each medium of a playlist."""
        raise NotImplementedError

    def create(self, system: System, name: str) -> int:
        """Make an empty playlist and return its key."""
        raise NotImplementedError

    def append(self, system: System, playlist: int, media: Sequence[Media]) -> None:
        raise NotImplementedError

    def remove(self, system: System, playlist: int) -> None:
        """Delete a playlist."""
        raise NotImplementedError

    def play(self, system: System, medium: Media) -> None:
        """What a tap on a medium does."""
        system.toast(f"Playing {medium.title}")

    def selection_actions(self, system: System, media: Sequence[Media]) -> tuple[ui.Action, ...]:
        """Return what else can be done with selected media."""
        return ()

    def playlist_actions(self, system: System, playlist: int, name: str) -> tuple[ui.Action, ...]:
        """Return what else can be done with a playlist."""
        return ()

    # --- screen ------------------------------------------------------------------------------------------------------

    def build(self, system: System) -> ui.Widget:
        introduction = self.first_run.page(system)
        if introduction is not None:
            return introduction
        if self.playlist:
            return self._playlist_page(system)
        tabs = (
            ui.Tab(text=f"{self.noun.title()}s", icon=self.icon),
            ui.Tab(text="Playlists", icon="playlist-music"),
        )
        return ui.Scaffold(
            app_bar=self._bar(),
            body=self._all(system) if self.tab == 0 else self._playlists(system),
            bottom_bar=ui.TabBar(tabs=tabs, index=self.tab, on_select=writer(self, "tab"), place="bottom"),
        )

    def _bar(self) -> ui.Widget:
        if self.selected:
            add = bar_button("action_add_to_playlist", "playlist-plus", "Add to playlist", setter(self, open="add"))
            clear = setter(self, selected=[])
            actions = (add, more_button("more", setter(self, open="more")))
            return ui.AppBar(title=str(len(self.selected)), on_back=clear, navigation_icon="close", actions=actions)
        if self.tab == 1:
            new = bar_button("new_playlist", "plus", "New playlist", setter(self, open="name", draft=""))
            return ui.AppBar(title=self.label, actions=(new,))
        return ui.AppBar(title=self.label)

    def _all(self, system: System) -> ui.Widget:
        rows: list[ui.Widget] = []
        for medium in self.media(system):
            chosen = medium.path in self.selected
            toggle = partial(self._toggle, medium.path)
            rows.append(
                ui.ListItem(
                    key="medium",
                    title=medium.title,
                    subtitle="  \u00b7  ".join(filter(None, (medium.artist, medium.length))),
                    leading=ui.Avatar(icon="check" if chosen else self.icon, color=self.color),
                    selected=chosen,
                    background="secondary_container" if chosen else None,
                    on_tap=toggle if self.selected else partial(self.play, system, medium),
                    on_long_press=toggle,
                )
            )
        if not rows:
            rows = [empty_state(self.icon, f"No {self.noun}s")]
        return ui.Scroll(key="media_list", children=tuple(rows), height="fill")

    def _playlists(self, system: System) -> ui.Widget:
        rows: list[ui.Widget] = [
            row(
                "playlist",
                name,
                subtitle=plural(len(self.entries(system, key)), self.noun),
                icon="playlist-music",
                on_tap=setter(self, playlist=key),
            )
            for key, name in self.playlists(system)
        ]
        if not rows:
            rows = [empty_state("playlist-music", "No playlists")]
        return ui.Scroll(key="playlist_list", children=tuple(rows), height="fill")

    def _playlist_page(self, system: System) -> ui.Widget:
        name = dict(self.playlists(system)).get(self.playlist, "")
        rows = [row("entry", title, subtitle=length) for title, length in self.entries(system, self.playlist)]
        bar = ui.AppBar(
            title=name,
            on_back=setter(self, playlist=0),
            actions=(more_button("more", setter(self, open="more")),),
        )
        body = ui.Scroll(key="entries", children=tuple(rows) or (empty_state(self.icon, "Empty"),), height="fill")
        return ui.Scaffold(app_bar=bar, body=body)

    def dialog(self, system: System) -> ui.Dialog | ui.Menu | None:
        close = setter(self, open="")
        match self.open:
            case "add":
                new = row("new_playlist", "New playlist\u2026", icon="plus", on_tap=setter(self, open="name", draft=""))
                rows = [
                    row("choose", name, icon="playlist-music", on_tap=partial(self._add, system, key))
                    for key, name in self.playlists(system)
                ]
                return message_dialog("Add to playlist", ui.Column(children=(new, *rows)), close, button="Cancel")
            case "name":
                return prompt_dialog(
                    "New playlist",
                    self.draft,
                    on_change=writer(self, "draft"),
                    on_ok=partial(self._create, system),
                    on_cancel=close,
                    key="playlist_name",
                    hint="Playlist name",
                    ok="Create",
                    enabled=bool(self.draft.strip()),
                )
            case "more":
                return ui.Menu(items=self._menu(system), on_dismiss=close, anchor="more")
            case _:
                return None

    def _menu(self, system: System) -> tuple[ui.Action, ...]:
        if not self.playlist:
            return (
                ui.Action(text="Add to playlist", on_tap=setter(self, open="add")),
                *self.selection_actions(system, self._chosen(system)),
            )
        name = dict(self.playlists(system)).get(self.playlist, "")
        delete = ui.Action(text="Delete playlist", on_tap=partial(self._remove, system))
        return (*self.playlist_actions(system, self.playlist, name), delete)

    # --- events ------------------------------------------------------------------------------------------------------

    def _chosen(self, system: System) -> list[Media]:
        by_path = {medium.path: medium for medium in self.media(system)}
        return [by_path[path] for path in self.selected if path in by_path]

    def _toggle(self, path: str) -> None:
        self.selected = [each for each in self.selected if each != path] + ([path] * (path not in self.selected))

    def _create(self, system: System) -> None:
        playlist = self.create(system, self.draft.strip())
        self._add(system, playlist)

    def _add(self, system: System, playlist: int) -> None:
        chosen = self._chosen(system)
        if chosen:
            self.append(system, playlist, chosen)
            system.toast(f"Added {plural(len(chosen), self.noun)} to the playlist")
        self.done()

    def _remove(self, system: System) -> None:
        self.remove(system, self.playlist)
        self.playlist, self.open = 0, ""

    def done(self) -> None:
        """Leave the selection and whatever dialog is open."""
        self.selected, self.open = [], ""

    def on_back(self, system: System) -> bool:
        busy = bool(self.selected or self.playlist)
        self.selected, self.playlist = [], 0
        return busy
