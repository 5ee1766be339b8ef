"""A small tokenizer of our own, made for one dialect: fixed phrases are one token each, so an action is few tokens.

Byte-level BPE over words and whole numbers, trained on the text it will see. It keeps Qwen's special tokens and chat
format, so that everything written for Qwen-VL (verl, vLLM, processors) takes it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

END_OF_TEXT, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
VISION_START, VISION_END = "<|vision_start|>", "<|vision_end|>"
IMAGE_PAD, VIDEO_PAD = "<|image_pad|>", "<|video_pad|>"
SPECIAL_TOKENS = (
    END_OF_TEXT,
    TURN_START,
    TURN_END,
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    VISION_START,
    VISION_END,
    "<|vision_pad|>",
    IMAGE_PAD,
    VIDEO_PAD,
)
"""Qwen's own, in its order."""

_WORDS = r"\n|\d{1,3}| ?[A-Za-z]+| ?[^\sA-Za-z\d]+|\s+"

CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message.role + '\\n' }}"
    "{%- if message.content is string -%}{{ message.content }}"
    "{%- else -%}{%- for part in message.content -%}"
    "{%- if part.type == 'image' -%}{{ '<|vision_start|><|image_pad|><|vision_end|>' }}"
    "{%- elif part.type == 'text' -%}{{ part.text }}{%- endif -%}"
    "{%- endfor -%}{%- endif -%}"
    "{{ '<|im_end|>\\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}"
)
"""ChatML as Qwen writes it, without an implied system message."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Corpus:
    """What a tokenizer is made from."""

    phrases: tuple[str, ...]
    """Fixed text: one token each."""
    texts: tuple[str, ...]
    """Text whose words the merges are learnt from."""
    max_number: int
    """Whole numbers up to this become one token each."""
    copied: tuple[str, ...] = ()
    """Words that actions repeat from what the model is told: one token each, the same wherever they stand."""


def copied_words(rendered: Iterable[str], told: Iterable[str]) -> tuple[str, ...]:
    """Return the words of what the model is told that rendered actions repeat."""
    return tuple(sorted(_words_of(rendered) & _words_of(told)))


def _words_of(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"[A-Za-z]\w+", text)}


def fixed_phrases(rendered: Iterable[str], prompts: Iterable[str], copied: Collection[str] = ()) -> tuple[str, ...]:
    """Return the parts of rendered actions between their numbers and copied words, and each line of the prompts."""
    between = re.compile("|".join((r"\d+", *(rf"\b{re.escape(word)}\b" for word in copied))))
    phrases = {piece for text in rendered for piece in between.split(text)}
    phrases |= {line for prompt in prompts for line in prompt.split("\n")}
    return tuple(sorted(phrase for phrase in phrases if len(phrase) > 1))


def tag_lines(told: Iterable[str]) -> tuple[str, ...]:
    """Return the lines of what the model is told that are one tag."""
    return tuple(sorted({line for text in told for line in text.split("\n") if re.fullmatch(r"</?\w+>", line)}))


def build_tokenizer(corpus: Corpus, *, vocabulary: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer with at most `vocabulary` tokens.

    Raises: ValueError: the fixed phrases leave no room for the bytes and words.
    """
    room = vocabulary - len(SPECIAL_TOKENS) - len(corpus.phrases) - len(corpus.copied)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    if room < len(alphabet):
        raise ValueError(f"vocabulary {vocabulary} is too small: {len(corpus.phrases)} phrases leave {room} tokens")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_WORDS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=room, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(_training_texts(corpus), trainer)
    tokenizer.add_tokens([AddedToken(phrase, normalized=False) for phrase in corpus.phrases])
    tokenizer.add_tokens([AddedToken(word, normalized=False, single_word=True) for word in corpus.copied])
    return _wrapped(tokenizer)


def _training_texts(corpus: Corpus) -> Sequence[str]:
    numbers = " ".join(str(number) for number in range(corpus.max_number + 1))
    # Numbers are repeated so that their merges come before those of rare words.
    return [numbers] * 20 + list(corpus.texts)


def _wrapped(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    wrapped: Any = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=TURN_END,
        pad_token=END_OF_TEXT,
        additional_special_tokens=[token for token in SPECIAL_TOKENS if token not in (TURN_END, END_OF_TEXT)],
        clean_up_tokenization_spaces=False,
    )
    wrapped.image_token, wrapped.video_token = IMAGE_PAD, VIDEO_PAD
    wrapped.chat_template = CHAT_TEMPLATE
    return wrapped
