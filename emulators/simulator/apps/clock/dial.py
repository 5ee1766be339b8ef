"""Clock: a time within a ring, and the round buttons below it."""

from __future__ import annotations

from rlfactory.emulators.simulator.view import widgets as ui


def dial(
    time: ui.Text, diameter: float, stroke: float, sweep: float, *, track: str = "surface_container_highest"
) -> ui.Widget:
    """Return a time within a ring of which `sweep` degrees, clockwise from the top, are lit. Lengths are dp."""
    center, radius = diameter / 2, diameter / 2 - stroke
    operations: list[tuple[object, ...]] = [("ring", center, center, radius, stroke, track)]
    if sweep:
        operations.append(("arc", center, center, radius, -90, sweep, stroke, "primary"))
    ring = ui.Canvas(operations=tuple(operations), width=diameter, height=diameter)
    return ui.Stack(children=((ring, "center", "center"), (time, "center", "center")), width=diameter, height=diameter)


def round_button(
    key: str, icon: str, description: str, on_tap: ui.Callback, *, role: str, diameter: float, size: float = 24
) -> ui.IconButton:
    """Return an icon on a disc; `role` is the theme's colour of the disc."""
    return ui.IconButton(
        key=key,
        icon=icon,
        description=description,
        color=f"on_{role}",
        container=role,
        diameter=diameter,
        size=size,
        on_tap=on_tap,
    )
