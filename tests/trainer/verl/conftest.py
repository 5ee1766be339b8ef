"""What the tests of verl's side share: processors of both families that see, small, with a tokenizer of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def qwen3_vl(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A processor as verl loads it, that knows the positions of its model."""
    pytest.importorskip("verl", reason="needs the train extra")
    from verl.utils.tokenizer import hf_processor

    from rlfactory.trainer.cpu.tiny_model import TinyModelConfig, save_tiny_model
    from rlfactory.trainer.cpu.tokenizer import Corpus, build_tokenizer

    folder: Path = tmp_path_factory.mktemp("model")
    tokenizer = build_tokenizer(Corpus(phrases=(), texts=("tap on it",), max_number=9), vocabulary=400)
    config = TinyModelConfig(hidden=32, layers=2, vision_hidden=16, vision_layers=2)
    save_tiny_model(folder, config, tokenizer, max_pixels=160 * 120)
    return hf_processor(str(folder))


@pytest.fixture(scope="module")
def qwen2_5_vl(qwen3_vl: Any) -> Any:
    from transformers import Qwen2_5_VLProcessor, Qwen2VLImageProcessor
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    return Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(min_pixels=28 * 28, max_pixels=160 * 120),
        tokenizer=qwen3_vl.tokenizer,
        video_processor=Qwen2VLVideoProcessor(),
        chat_template=qwen3_vl.chat_template,
    )
