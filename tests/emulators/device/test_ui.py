"""UI trees and their uiautomator XML."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.emulators.device.ui import HIERARCHY, Bounds, UiNode, from_xml, printable, to_xml

TEXTS = st.text(max_size=12)
PRINTABLE = TEXTS.map(printable)
SIDES = st.integers(-5000, 5000)
LEAVES = st.builds(
    UiNode,
    class_name=st.sampled_from(["android.widget.TextView", "android.view.View"]),
    package=PRINTABLE,
    resource_id=PRINTABLE,
    text=PRINTABLE,
    description=PRINTABLE,
    hint=PRINTABLE,
    bounds=st.builds(Bounds, SIDES, SIDES, SIDES, SIDES),
    **{
        flag: st.booleans()
        for flag in ("checkable", "checked", "clickable", "enabled", "focusable", "focused", "scrollable")
    },
    long_clickable=st.booleans(),
    password=st.booleans(),
    selected=st.booleans(),
)
TREES = st.recursive(
    LEAVES,
    lambda trees: st.builds(UiNode, text=PRINTABLE, children=st.lists(trees, max_size=3).map(tuple)),
    max_leaves=12,
)


@given(TREES)
def test_a_tree_survives_its_xml(tree: UiNode) -> None:
    assert from_xml(to_xml(tree)) == tree


@given(TEXTS)
def test_any_text_makes_valid_xml(text: str) -> None:
    xml = to_xml(UiNode(text=text, hint=text))
    assert ET.fromstring(xml.encode())[0].get("text") == printable(text)
    assert from_xml(xml).hint == printable(text)


def test_the_xml_is_what_uiautomator_writes() -> None:
    tree = UiNode(
        class_name="android.widget.FrameLayout",
        package="com.android.settings",
        bounds=Bounds(0, 0, 1080, 2400),
        children=(UiNode(class_name="android.widget.TextView", text='Wi‑Fi & "more"', clickable=True),),
    )
    lines = to_xml(tree, rotation=1)
    assert lines == (
        "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n"
        '<hierarchy rotation="1"><node index="0" text="" resource-id="" class="android.widget.FrameLayout" '
        'package="com.android.settings" content-desc="" checkable="false" checked="false" clickable="false" '
        'enabled="true" focusable="false" focused="false" scrollable="false" long-clickable="false" password="false" '
        'selected="false" bounds="[0,0][1080,2400]"><node index="0" text="Wi‑Fi &amp; &quot;more&quot;" '
        'resource-id="" class="android.widget.TextView" package="" content-desc="" checkable="false" checked="false" '
        'clickable="true" enabled="true" focusable="false" focused="false" scrollable="false" long-clickable="false" '
        'password="false" selected="false" bounds="[0,0][0,0]" /></node></hierarchy>'
    )


def test_several_windows_hang_under_the_hierarchy() -> None:
    windows = (UiNode(text="app"), UiNode(text="keyboard"))
    tree = UiNode(class_name=HIERARCHY, children=windows)
    assert from_xml(to_xml(tree)) == tree
    assert from_xml(to_xml(UiNode(class_name=HIERARCHY))) == UiNode(class_name=HIERARCHY)


def test_depth_is_cut_where_asked() -> None:
    tree = UiNode(text="1", children=(UiNode(text="2", children=(UiNode(text="3"),)),))
    assert [node.text for node in from_xml(to_xml(tree, max_depth=2)).walk()] == ["1", "2"]


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "<hierarchy>",
        "<nodes/>",
        '<hierarchy><node bounds="[1,2]"/></hierarchy>',
        '<!DOCTYPE x [<!ENTITY a "b">]><hierarchy/>',
    ],
)
def test_what_is_no_tree_is_refused(xml: str) -> None:
    with pytest.raises(ValueError, match="UI tree"):
        from_xml(xml)
