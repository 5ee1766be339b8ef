"""A dialect says how a model writes actions. This one is Qwen3-VL's, with words of its own before each goal."""

from __future__ import annotations

from rlfactory.trainer.dialects.qwen import QWEN3_VL, QwenDialect


class Polite(QwenDialect):
    def first_message(self, goal: str) -> str:
        return f"Please: {goal}"


POLITE = Polite(name="polite", frame=QWEN3_VL.frame, multiple_px=QWEN3_VL.multiple_px, actions=QWEN3_VL.actions)
