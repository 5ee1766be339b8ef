"""A phone that shows the gallery, of the size that a test or its module names."""

from __future__ import annotations

import pytest

from rlfactory.emulators.simulator.phone import Phone
from tests.emulators.simulator.gallery import Gallery, gallery_phone


@pytest.fixture
def size() -> tuple[int, int]:
    return (540, 1200)


@pytest.fixture
def phone(size: tuple[int, int]) -> Phone:
    return gallery_phone(*size)[0]


@pytest.fixture
def gallery(phone: Phone) -> Gallery:
    assert isinstance(phone.activity, Gallery)
    return phone.activity
