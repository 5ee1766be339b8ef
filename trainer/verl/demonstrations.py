"""verl's SFT dataset for demonstrations, each encoded once: the few there are, are seen many times."""

from __future__ import annotations

from typing import Any

from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset


class DemonstrationDataset(MultiTurnSFTDataset):  # type: ignore[misc]
    """Rows of `messages` (with `<image>` placeholders) and `images`, as `trainer.run.warm_start` writes them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._encoded: dict[int, dict[str, Any]] = {}

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index not in self._encoded:
            self._encoded[index] = super().__getitem__(index)
        return dict(self._encoded[index])

    def sanity_check(self, *args: Any, **kwargs: Any) -> None:
        """Compare with the model's own template once: all rows are made alike, and the check costs as much as a row."""
        if not self._encoded:
            super().sanity_check(*args, **kwargs)
