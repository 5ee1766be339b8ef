"""Simple Draw Pro (`com.simplemobiletools.draw.pro`): strokes on a sheet, saved as a picture."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import field
from functools import partial
from typing import Final

import PIL.Image
import PIL.ImageDraw

from rlfactory.emulators.simulator.android.app import Activity, App
from rlfactory.emulators.simulator.android.system import System
from rlfactory.emulators.simulator.apps.kit.callbacks import setter, writer
from rlfactory.emulators.simulator.apps.kit.dialogs import confirm_dialog, radio_row
from rlfactory.emulators.simulator.apps.kit.files import STORAGE, is_good_name, try_change
from rlfactory.emulators.simulator.apps.kit.rows import bar_button
from rlfactory.emulators.simulator.view import widgets as ui

PACKAGE: Final = "com.simplemobiletools.draw.pro"
FOLDERS: Final = ("Pictures", "DCIM", "Download", "Documents")
COLORS: Final = ("#212121", "#D32F2F", "#1976D2", "#388E3C", "#FBC02D")
_WIDTH, _HEIGHT = 360, 520
_STEP: Final = 48
_MOVES: Final = {"up": (0, -_STEP), "down": (0, _STEP), "left": (-_STEP, 0), "right": (_STEP, 0)}

Stroke = tuple[float, float, float, float, str]
"""From x, y to x, y in dp, and the colour."""


class MainActivity(Activity):
    """The sheet: a swipe draws a stroke onwards from the pen in its direction, a tap makes a dot."""

    name = "com.simplemobiletools.draw.pro.activities.MainActivity"
    strokes: list[Stroke] = field(default_factory=list)
    undone: list[Stroke] = field(default_factory=list)
    color: str = COLORS[0]
    open: str = ""
    """Which dialog is open: "save", "folder"."""
    draft: str = ""
    extension: str = "png"
    folder: str = "Pictures"

    def build(self, system: System) -> ui.Widget:
        bar = ui.AppBar(
            title="Simple Draw",
            actions=(
                bar_button("undo", "undo", "Undo", partial(self._take_back, self.strokes, self.undone)),
                bar_button("redo", "redo", "Redo", partial(self._take_back, self.undone, self.strokes)),
                bar_button("menu_clear", "delete-outline", "Clear", self._clear),
                bar_button("menu_save", "content-save-outline", "Save as", partial(self._start_saving, system)),
            ),
        )
        lines = tuple(("line", x1, y1, x2, y2, 6, color) for x1, y1, x2, y2, color in self.strokes)
        sheet = ui.Canvas(
            key="my_canvas",
            description="Canvas",
            operations=(("rect", 0, 0, 1000, 1000, "#FFFFFF"), *lines),
            width="fill",
            weight=1,
            on_tap=partial(self._draw, None),
            on_swipe=self._draw,
        )
        pens = tuple(
            ui.IconButton(
                key=f"color_{color[1:].lower()}",
                icon="circle" if color != self.color else "check-circle",
                color=color,
                description=f"Color {color}",
                on_tap=setter(self, color=color),
            )
            for color in COLORS
        )
        palette = ui.Row(children=pens, gap=8, justify="center", width="fill", padding=(8, 8, 8, 8))
        return ui.Scaffold(app_bar=bar, body=ui.Column(children=(sheet, palette), height="fill", align="stretch"))

    def dialog(self, system: System) -> ui.Dialog | None:
        if self.open == "folder":
            rows = tuple(
                radio_row(f"folder_{each.lower()}", each, each == self.folder, setter(self, folder=each, open="save"))
                for each in FOLDERS
            )
            return ui.Dialog(title="Select folder", body=ui.Column(children=rows), on_dismiss=setter(self, open="save"))
        if self.open != "save":
            return None
        name = ui.TextField(
            key="save_image_filename",
            value=self.draft,
            on_change=writer(self, "draft"),
            label="Filename (without extension)",
            width="fill",
        )
        place = ui.ListItem(
            key="save_image_path", title=f"/{self.folder}", subtitle="Folder", on_tap=setter(self, open="folder")
        )
        kinds = tuple(
            radio_row(f"save_image_radio_{kind}", kind.upper(), kind == self.extension, setter(self, extension=kind))
            for kind in ("png", "jpg", "svg")
        )
        return confirm_dialog(
            "Save as",
            ui.Column(children=(place, name, *kinds), gap=4),
            yes="OK",
            on_yes=partial(self._save, system),
            on_no=setter(self, open=""),
            enabled=is_good_name(self.draft),
        )

    # --- events ------------------------------------------------------------------------------------------------------

    def _draw(self, direction: ui.Direction | None) -> None:
        x, y = self.strokes[-1][2:4] if self.strokes else (_WIDTH / 2, _HEIGHT / 2)
        dx, dy = _MOVES[direction] if direction else (1, 0)
        to = (min(max(x + dx, 8), _WIDTH - 8), min(max(y + dy, 8), _HEIGHT - 8))
        self.strokes, self.undone = [*self.strokes, (x, y, *to, self.color)], []

    def _take_back(self, source: list[Stroke], target: list[Stroke]) -> None:
        if source:
            target.append(source.pop())

    def _clear(self) -> None:
        self.strokes, self.undone = [], []

    def _start_saving(self, system: System) -> None:
        self.open, self.draft = "save", f"image_{system.now():%Y%m%d_%H%M%S}"

    def _save(self, system: System) -> None:
        path = f"{STORAGE}/{self.folder}/{self.draft.strip()}.{self.extension}"
        data = _svg(self.strokes) if self.extension == "svg" else _picture(self.strokes, self.extension)

        def write() -> None:
            system.files.make_dirs(f"{STORAGE}/{self.folder}")
            system.files.write(path, data)

        if try_change(system, write):
            system.toast("File saved successfully")
            self.open = ""


def _picture(strokes: Sequence[Stroke], extension: str) -> bytes:
    sheet = PIL.Image.new("RGB", (_WIDTH, _HEIGHT), "#FFFFFF")
    pen = PIL.ImageDraw.Draw(sheet)
    for x1, y1, x2, y2, color in strokes:
        pen.line((x1, y1, x2, y2), fill=color, width=6)
    out = io.BytesIO()
    sheet.save(out, "JPEG" if extension == "jpg" else "PNG")
    return out.getvalue()


def _svg(strokes: Sequence[Stroke]) -> bytes:
    lines = "".join(
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{color}" stroke-width="6"/>'
        for x1, y1, x2, y2, color in strokes
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}">{lines}</svg>\n'.encode()


DRAW = App(
    package=PACKAGE,
    label="Simple Draw Pro",
    icon="draw",
    color="#F57C00",
    activities=(MainActivity,),
    version_name="6.9.6",
    version_code=79,
    system=False,
)
