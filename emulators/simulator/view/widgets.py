"""What apps are built of. A screen is a value: `Activity.build` returns a tree of these, and nothing here draws.

Widgets are plain data with callbacks; `layout.py` measures and places them, `painter.py` turns the placed tree into a
display list, `accessibility.py` turns it into `UiNode`s. Lengths are dp (density-independent pixels) unless the name
says otherwise; colours are roles of the theme (`"primary"`, `"on_surface"`), or "#RRGGBB" / "#AARRGGBB".

`key` names a widget among its screen: it is where scroll offset, text and focus live across rebuilds, and it becomes
the resource-id (`package:id/key`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, dataclass_transform

Callback = Callable[[], None]
Direction = Literal["up", "down", "left", "right"]
Align = Literal["start", "center", "end", "stretch"]
Role = str
"""A text style of Material 3: display_large ... headline_small, title_large, body_medium, label_large, ..."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Value:
    """Makes whatever derives from it a frozen dataclass with keywords only."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)


class Widget(Value):
    """Fields that every widget shares."""

    key: str = ""
    description: str = ""
    """Content description for accessibility."""
    class_name: str = "android.view.View"
    """What accessibility calls it: the class of Android's that it looks like."""
    on_tap: Callback | None = None
    on_long_press: Callback | None = None
    enabled: bool = True
    selected: bool = False
    width: float | Literal["fill", "wrap"] = "wrap"
    height: float | Literal["fill", "wrap"] = "wrap"
    weight: float = 0.0
    """Share of the space left over in a Row or Column; 0 takes its own size."""
    padding: tuple[float, float, float, float] = (0, 0, 0, 0)
    """Left, top, right, bottom."""
    background: str | None = None
    radius: float = 0.0
    border: str | None = None
    min_height: float = 0.0
    elevation: float = 0.0
    """Height of the shadow below."""
    on_swipe: Callable[[Direction], None] | None = None
    """A swipe that began here and that nothing inside used."""
    on_drop: Callable[[str], None] | None = None
    """This was dragged (long press, then move) and let go over the widget whose key is the argument ("" for none)."""


# --- boxes ---------------------------------------------------------------------------------------------------------


class Column(Widget):
    children: tuple[Widget, ...] = ()
    gap: float = 0.0
    align: Align = "stretch"
    justify: Literal["start", "center", "end", "space_between"] = "start"
    class_name: str = "android.widget.LinearLayout"


class Centered(Column):
    """Its children in its middle."""

    align: Align = "center"
    justify: Literal["start", "center", "end", "space_between"] = "center"


class Row(Widget):
    children: tuple[Widget, ...] = ()
    gap: float = 0.0
    align: Align = "center"
    justify: Literal["start", "center", "end", "space_between"] = "start"
    class_name: str = "android.widget.LinearLayout"


class Stack(Widget):
    """Children over each other, each placed by its own alignment (horizontal, vertical)."""

    class_name: str = "android.widget.FrameLayout"
    children: tuple[tuple[Widget, Align, Align], ...] = ()


def centered(content: Widget) -> tuple[tuple[Widget, Align, Align], ...]:
    """Return the children of a `Stack` that shows one widget in its middle."""
    return ((content, "center", "center"),)


class Grid(Widget):
    class_name: str = "android.widget.GridView"
    children: tuple[Widget, ...] = ()
    columns: int = 2
    gap: float = 0.0


class Scroll(Widget):
    """A vertically scrolling column. Needs a `key`."""

    class_name: str = "android.widget.ScrollView"
    children: tuple[Widget, ...] = ()
    gap: float = 0.0


class Spacer(Widget):
    pass


class Divider(Widget):
    pass


# --- content -------------------------------------------------------------------------------------------------------


class Text(Widget):
    class_name: str = "android.widget.TextView"
    text: str
    style: Role = "body_large"
    color: str = "on_surface"
    max_lines: int | None = None
    """Longer text ends in an ellipsis."""
    text_align: Literal["start", "center", "end"] = "start"
    monospace: bool = False


class Icon(Widget):
    """A Material Design icon by its name ("wifi", "arrow-left")."""

    class_name: str = "android.widget.ImageView"
    icon: str
    size: float = 24
    color: str = "on_surface_variant"


class Avatar(Widget):
    """A coloured disc with a letter or an icon."""

    class_name: str = "android.widget.ImageView"
    letter: str = ""
    icon: str = ""
    color: str = "primary"
    size: float = 40


class Canvas(Widget):
    """A drawing of an app's own (a dial, a progress ring): operations in dp of its own box, drawn in order.

    Give it `width` and `height`. Angles are degrees clockwise from three o'clock; colours as everywhere.

        ("rect", left, top, right, bottom, color)        ("rrect", left, top, right, bottom, radius, color)
        ("circle", cx, cy, radius, color)                ("ring", cx, cy, radius, stroke, color)
        ("arc", cx, cy, radius, start, sweep, stroke, color)
        ("line", x1, y1, x2, y2, stroke, color)          ("polygon", ((x, y), ...), color)
        ("text", cx, cy, text, style, color)             ("icon", cx, cy, size, icon, color)
    """

    operations: tuple[tuple[object, ...], ...] = ()


class Picture(Widget):
    """Another screen, scaled to this widget's width and cut off at its height (the overview's cards)."""

    operations: tuple[tuple[object, ...], ...] = ()
    """A display list in pixels, as `painter.py` makes them."""
    source_width_px: int = 1


class Photo(Widget):
    """A picture from a file, fitted into this widget's box; nothing where the data is no picture.

    Give it `width` and `height`.
    """

    class_name: str = "android.widget.ImageView"
    data: bytes
    """As in the file: JPEG, PNG, GIF, WebP."""
    cover: bool = False
    """Fill the box and cut off what sticks out, as thumbnails do; else the whole picture is seen."""


# --- controls ------------------------------------------------------------------------------------------------------


class Button(Widget):
    class_name: str = "android.widget.Button"
    text: str
    kind: Literal["filled", "tonal", "outlined", "text"] = "filled"
    icon: str = ""


class IconButton(Widget):
    """`description` is what accessibility reads."""

    class_name: str = "android.widget.ImageButton"
    icon: str
    color: str = "on_surface_variant"
    size: float = 24
    container: str | None = None
    """Colour of a round container, None for none."""
    diameter: float = 48


class Fab(Widget):
    class_name: str = "android.widget.ImageButton"
    icon: str
    text: str = ""


class Switch(Widget):
    class_name: str = "android.widget.Switch"
    checked: bool
    on_change: Callable[[bool], None] | None = None


class Checkbox(Widget):
    class_name: str = "android.widget.CheckBox"
    checked: bool
    on_change: Callable[[bool], None] | None = None


class Radio(Widget):
    class_name: str = "android.widget.RadioButton"
    checked: bool


class Slider(Widget):
    """Value in 0..1; the ends are reached exactly by a tap or swipe to the ends of the track."""

    class_name: str = "android.widget.SeekBar"
    value: float
    on_change: Callable[[float], None] | None = None


class TextField(Widget):
    """Editable text; the text itself lives in the activity, under whatever `on_change` writes."""

    class_name: str = "android.widget.EditText"
    value: str
    on_change: Callable[[str], None] | None = None
    on_submit: Callback | None = None
    """The keyboard's action key (Enter) in a single-line field."""
    hint: str = ""
    label: str = ""
    kind: Literal["outlined", "plain"] = "outlined"
    multiline: bool = False
    number: bool = False
    """Brings up the numeric keyboard."""
    style: Role = "body_large"
    monospace: bool = False
    password: bool = False
    """Shown as dots."""
    autofocus: bool = False
    """Takes the focus when it first appears."""


class ListItem(Widget):
    """A Material list row; a `trailing` Switch or Checkbox is toggled by tapping the row."""

    class_name: str = "android.widget.LinearLayout"
    title: str
    subtitle: str = ""
    leading: Widget | None = None
    trailing: Widget | None = None
    max_lines: int = 2
    title_style: Role = "body_large"
    """Settings screens use "settings_item"."""
    title_color: str = "on_surface"


class Tab(Value):
    text: str
    icon: str = ""
    description: str = ""


class TabBar(Widget):
    class_name: str = "android.widget.HorizontalScrollView"
    tabs: tuple[Tab, ...]
    index: int
    on_select: Callable[[int], None] | None = None
    place: Literal["top", "bottom"] = "top"
    """Top: Material tabs with an underline. Bottom: a navigation bar with icon pills."""


# --- screens -------------------------------------------------------------------------------------------------------


class AppBar(Widget):
    class_name: str = "android.view.ViewGroup"
    title: str = ""
    on_back: Callback | None = None
    """None: no arrow."""
    navigation_icon: str = "arrow-left"
    actions: tuple[Widget, ...] = ()
    large: bool = False
    """Settings-like: a tall bar with the title in large type."""


class Scaffold(Widget):
    """A full screen: bar above, body that fills, bar below, floating button, status-bar colour from its background."""

    class_name: str = "android.widget.FrameLayout"
    body: Widget
    app_bar: Widget | None = None
    bottom_bar: Widget | None = None
    fab: Widget | None = None
    background: str | None = "surface"


class Action(Value):
    """A button of a dialog or an entry of a menu."""

    text: str
    on_tap: Callback
    enabled: bool = True
    icon: str = ""


class Dialog(Widget):
    """A modal dialog; an activity returns it from `Activity.dialog`. Tapping beside it or BACK calls `on_dismiss`."""

    class_name: str = "android.widget.FrameLayout"
    title: str = ""
    body: Widget | None = None
    actions: tuple[Action, ...] = ()
    on_dismiss: Callback | None = None
    icon: str = ""


class Menu(Widget):
    """A popup menu, at the top right under the app bar unless anchored to the widget whose key is `anchor`."""

    class_name: str = "android.widget.ListView"
    items: tuple[Action, ...] = ()
    on_dismiss: Callback | None = None
    anchor: str = ""
