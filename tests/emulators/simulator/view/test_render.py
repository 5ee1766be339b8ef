"""Pictures: equal screens give equal pixels, and redrawing only the damage gives what drawing all would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlfactory.emulators.device.device import ImageSpec
from rlfactory.emulators.device.pixels import encode
from rlfactory.emulators.simulator.phone import Phone
from rlfactory.emulators.simulator.view.drawing.painter import Operation
from rlfactory.emulators.simulator.view.drawing.render import Renderer, RendererConfig, damage
from rlfactory.emulators.simulator.view.drawing.text import clean
from rlfactory.emulators.simulator.view.scene import Scene
from tests.emulators.simulator.gallery import Gallery, gallery_phone

WIDTH, HEIGHT = 360, 800

POINTS = st.tuples(st.integers(0, WIDTH - 1), st.integers(0, HEIGHT - 1))
ACTIONS = st.one_of(
    st.tuples(st.just("tap"), POINTS),
    st.tuples(st.just("long_press"), POINTS),
    st.tuples(st.just("swipe"), POINTS, POINTS),
    st.tuples(st.just("type"), st.text(max_size=8)),
    st.tuples(st.just("key"), st.sampled_from(["BACK", "DEL", "TAB", "APP_SWITCH", "NOTIFICATION", "ENTER"])),
)


@pytest.fixture
def size() -> tuple[int, int]:
    return (WIDTH, HEIGHT)


def _act(phone: Phone, action: tuple) -> None:  # type: ignore[type-arg]
    match action:
        case ("tap", (x, y)):
            phone.tap(x, y)
        case ("long_press", (x, y)):
            phone.long_press(x, y)
        case ("swipe", (x1, y1), (x2, y2)):
            phone.swipe(x1, y1, x2, y2)
        case ("type", text):
            phone.type_text(text)
        case ("key", name):
            phone.key(name)


def _draw(renderer: Renderer, scene: Scene) -> np.ndarray:
    return renderer.rgb(scene.display_list, scene.width_px, scene.height_px)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ACTIONS, max_size=12))
def test_redrawing_and_encoding_what_changed_is_doing_all_of_it(actions: list[tuple]) -> None:  # type: ignore[type-arg]
    phone, _ = gallery_phone(WIDTH, HEIGHT)
    kept = Renderer()
    for action in actions:
        _act(phone, action)
        scene = phone.scene()
        anew = _draw(Renderer(), scene)
        assert np.array_equal(_draw(kept, scene), anew), action
        for spec in (ImageSpec(), ImageSpec(max_pixels=90_000)):
            size = scene.width_px, scene.height_px
            image = kept.encode(scene.display_list, *size, digest=scene.digest, spec=spec)
            assert image == encode(anew, spec), action


def test_equal_screens_have_equal_digests_and_pixels() -> None:
    (one, _), (other, _) = gallery_phone(), gallery_phone()
    for phone in (one, other):
        phone.swipe(270, 900, 270, 500)
        phone.tap(270, 300)
    assert one.scene().digest == other.scene().digest
    assert np.array_equal(one.rgb(), other.rgb())
    assert one.encode(ImageSpec()).digest == other.encode(ImageSpec()).digest


def test_different_screens_have_different_digests(phone: Phone, gallery: Gallery) -> None:
    before = phone.scene().digest
    gallery.switched = True
    phone.invalidate()
    assert phone.scene().digest != before


@pytest.mark.parametrize("size", [(540, 1200)])
def test_a_switch_looks_different_on_and_off_even_on_a_tiny_picture(phone: Phone, gallery: Gallery) -> None:
    spec = ImageSpec(format="png", max_pixels=112 * 252, multiple_px=28)
    row = phone.scene().find("wifi")
    assert row is not None
    pictures = []
    for gallery.switched in (False, True):
        phone.invalidate()
        pictures.append(phone.rgb()[row.y : row.y + row.height].astype(int))
        assert phone.encode(spec).width_px == 112
    difference = np.abs(pictures[0] - pictures[1]).max(axis=2)
    assert (difference > 60).sum() > 1000


def test_unchanged_lists_damage_nothing_and_reordered_ones_everything() -> None:
    one: Operation = ("rect", (0, 0, 10, 10), None, (0, 0, 10, 10), 1)
    other: Operation = ("rect", (5, 5, 20, 20), None, (5, 5, 20, 20), 2)
    far: Operation = ("rect", (50, 50, 60, 60), None, (50, 50, 60, 60), 3)
    assert damage([one, other], [one, other]) == []
    assert damage([one, other], [other, one]) is None
    assert damage([one], [one, one]) is None
    assert damage([one], [other]) == [(0, 0, 20, 20)]
    assert sorted(damage([one], [far]) or []) == [(0, 0, 10, 10), (50, 50, 60, 60)]


def test_kept_pictures_are_bounded(phone: Phone, gallery: Gallery) -> None:
    renderer = Renderer(RendererConfig(cache_bytes=120_000))
    images = []
    for number in range(12):
        gallery.title = f"Number {number}"
        phone.invalidate()
        scene = phone.scene()
        size = (scene.width_px, scene.height_px)
        images.append(renderer.encode(scene.display_list, *size, digest=scene.digest, spec=ImageSpec()))
        again = renderer.encode(scene.display_list, *size, digest=scene.digest, spec=ImageSpec())
        assert again is images[-1]
    assert renderer.cached_bytes <= 120_000
    assert len({image.digest for image in images}) == 12


def test_frames_of_many_sizes_are_bounded() -> None:
    renderer = Renderer(RendererConfig(frames=2))
    for width in (200, 240, 280):
        phone, _ = gallery_phone(width, 2 * width)
        assert _draw(renderer, phone.scene()).shape == (2 * width, width, 3)
    assert renderer.frame_sizes == ((240, 480), (280, 560))


def test_a_nonsensical_renderer_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one frame"):
        RendererConfig(frames=0)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_drawn(text: str) -> None:
    phone, gallery = gallery_phone(WIDTH, HEIGHT)
    gallery.title = gallery.body = text
    phone.invalidate()
    assert phone.rgb().any()
    assert clean(clean(text)) == clean(text)


def test_text_no_font_can_show_is_drawn_as_boxes(phone: Phone, gallery: Gallery) -> None:
    blank = phone.rgb()
    gallery.title = "👩‍👩‍👧 \ud800 漢字 \x00"
    phone.invalidate()
    assert not np.array_equal(phone.rgb(), blank)


def test_a_dark_screen_is_black_and_wakes_up(phone: Phone) -> None:
    lit = phone.rgb()
    phone.key("SLEEP")
    assert not phone.rgb().any()
    phone.tap(100, 100)
    phone.key("WAKEUP")
    assert np.array_equal(phone.rgb(), lit)
