"""Screenshots by reference: what the learner gets is what verl would have made, and nothing of it was carried."""

from __future__ import annotations

import io
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("verl", reason="needs the train extra")

from PIL import Image
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput, AgentLoopWorker
from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder

from rlfactory.envs.api.types import ImageFormat, ImageRef
from rlfactory.trainer.episode.context import Message
from rlfactory.trainer.verl.chat import VerlChatTokens
from rlfactory.trainer.verl.images import PixelMaker, Screenshot, by_reference, measuring, picture
from rlfactory.trainer.verl.workers import EpisodeWorker

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]


def shot(number: int) -> ImageRef:
    sides = [(160, 120), (96, 64), (300, 210)][number % 3]  # the last is larger than the model takes
    buffer = io.BytesIO()
    Image.radial_gradient("L").resize(sides).rotate(37 * number).convert("RGB").save(buffer, "PNG")
    return ImageRef(
        data=buffer.getvalue(), format=ImageFormat.PNG, width_px=sides[0], height_px=sides[1], digest=f"shot{number}"
    )


def messages(count: int) -> list[list[Message]]:
    """What is told in each turn; the third screen is the first again."""
    return [[Message(role="user", text=f"turn {turn}", image=shot(turn % 2))] for turn in range(count)]


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl"])
async def test_a_row_by_reference_becomes_what_verl_would_have_made(
    family: str, request: pytest.FixtureRequest
) -> None:
    processor = request.getfixturevalue(family)
    chat = VerlChatTokens(processor, model_type=family)
    row: list[int] = []
    told = messages(4)
    for turn, added in enumerate(told):
        history = [each for before in told[:turn] for each in (*before, Message(role="assistant", text="so"))]
        row += await chat.follow(history, added, row) if row else await chat.begin(added)
        row += [*processor.tokenizer.encode("so", add_special_tokens=False), processor.tokenizer.eos_token_id]
    refs = [message.image for added in told for message in added if message.image is not None]
    verls = create_continuous_token_builder(
        processor.tokenizer, hf_model_type=family, chat_template_kwargs={}, mm_processor_kwargs={}, processor=processor
    )
    content = [{"type": "image", "image": picture(refs[0])}, {"type": "text", "text": "turn 0"}]
    begun = verls.build_initial_tokens([{"role": "user", "content": content}], images=[picture(refs[0])])
    assert list(begun) == row[: len(begun)]

    def output(images: list[Any]) -> AgentLoopOutput:
        return AgentLoopOutput(
            prompt_ids=row[:9],
            response_ids=row[9:],
            response_mask=[1] * len(row[9:]),
            multi_modal_data={"images": images},
            metrics=AgentLoopMetrics(),
        )

    plain: Any = SimpleNamespace(
        processor=processor, tokenizer=processor.tokenizer, _get_mm_processor_kwargs=lambda _=None: {}
    )
    ids = torch.tensor([row])
    whole = AgentLoopWorker._compute_multi_modal_inputs(plain, output([picture(each) for each in refs]), ids)
    worker: Any = object.__new__(EpisodeWorker)
    worker.processor = measuring(processor)
    small, positions = worker._inputs(output([Screenshot(each) for each in refs]))
    made = PixelMaker(processor.image_processor, "cpu").filled(small)
    assert made.keys() == whole.keys() - {"mm_token_type_ids"}
    assert all(torch.equal(made[name], whole[name]) for name in made)
    if family == "qwen3_vl":  # the other has no model to ask
        assert positions.shape == (1, 4, len(row))
        assert torch.equal(positions, AgentLoopWorker._compute_position_ids(plain, ids, torch.ones_like(ids), whole))
    weight = sum(len(each.data) for each in {each.digest: each for each in refs}.values())
    assert len(pickle.dumps(small)) < weight + 3_000, "each file once, and no pixels"


def test_a_request_carries_files_and_arrives_as_pictures() -> None:
    ref = shot(2)
    sent = pickle.dumps(Screenshot(ref))
    assert len(sent) < len(ref.data) + 300
    assert pickle.loads(sent).tobytes() == picture(ref).tobytes()


def test_pixels_are_made_once_and_of_files_alone(qwen3_vl: Any) -> None:
    class Counting:
        made = 0

        def __call__(self, **asked: Any) -> Any:
            self.made += 1
            return qwen3_vl.image_processor(**asked)

    counting, refs = Counting(), [Screenshot(shot(number)) for number in (0, 1, 0)]
    maker = PixelMaker(counting, "cpu")
    row = by_reference(refs, measuring(qwen3_vl))
    first, again = maker.filled(row), maker.filled(row)
    assert counting.made == 2, "of two files, read in two passes"
    assert torch.equal(first["pixel_values"], again["pixel_values"])
    assert maker.filled({}) == {}, "a row of verl's padding has no screenshots"
