"""What the tests of our own engine share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """So small a model gains nothing by threads, which wait for each other where tests run side by side."""
    torch = pytest.importorskip("torch", reason="needs the train extra")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
