"""Every value survives the wire."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.emulators.device.errors import DeviceLost, DeviceTimeout
from rlfactory.envs.api import errors
from rlfactory.envs.api.types import (
    CoordinateFrame,
    EpisodeState,
    ImageFormat,
    ImageRef,
    Observation,
    ResetResult,
    Reward,
    SessionOptions,
    StepResult,
    StepTiming,
    TaskInfo,
    ToolCall,
    ToolResult,
    ToolSchema,
    ToolStatus,
)
from rlfactory.envs.wire import convert
from rlfactory.envs.wire.faults import CODES, device_failure, from_metadata, to_status
from rlfactory.envs.wire.v1 import env_pb2 as pb

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
number = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(0.001, 1e6)
small = st.integers(0, 2**31)
json_object = st.dictionaries(
    text,
    st.recursive(
        st.none() | st.booleans() | st.integers() | number | text,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)

options = st.builds(
    SessionOptions,
    image_format=st.sampled_from(ImageFormat),
    image_quality=st.integers(1, 100),
    max_pixels=st.none() | st.integers(1, 10**9),
    multiple_px=st.integers(1, 256),
    with_image=st.booleans(),
    with_tree=st.booleans(),
    coordinates=st.sampled_from(CoordinateFrame),
    max_turns=st.none() | st.integers(1, 1000),
    lease_s=positive,
    step_timeout_s=positive,
    group=text,
)
images = st.builds(
    ImageRef,
    data=st.binary(min_size=1, max_size=50),
    format=st.sampled_from(ImageFormat),
    width_px=small,
    height_px=small,
    digest=text,
)
observations = st.builds(
    Observation,
    sequence=small,
    image=st.none() | images,
    tree_xml=text,
    activity=text,
    width_px=small,
    height_px=small,
    text=text,
)
schemas = st.builds(ToolSchema, name=text, description=text, parameters=json_object)
calls = st.builds(ToolCall, id=text.filter(bool), name=text, arguments=json_object)
results = st.builds(
    ToolResult, call_id=text, name=text, status=st.sampled_from(ToolStatus), text=text, duration_s=number
)
rewards = st.builds(
    Reward,
    total=number,
    parts=st.dictionaries(text, number, max_size=3),
    progress=number,
    success=st.booleans(),
    side_effects=st.lists(text, max_size=3).map(tuple),
)
timings = st.builds(StepTiming, act_s=number, settle_s=number, observe_s=number, judge_s=number, total_s=number)
steps = st.builds(
    StepResult,
    results=st.lists(results, max_size=3).map(tuple),
    observation=observations,
    reward=rewards,
    state=st.sampled_from(EpisodeState),
    timing=timings,
)
resets = st.builds(
    ResetResult,
    session=text,
    goal=text,
    tools=st.lists(schemas, max_size=2).map(tuple),
    observation=observations,
    max_turns=small,
    lease_expiry_s=number,
    state_hash=text,
)
infos = st.builds(
    TaskInfo,
    name=text,
    suite=text,
    description=text,
    apps=st.lists(text, max_size=2).map(tuple),
    splits=st.lists(st.sampled_from(["train", "validation", "test"]), max_size=3).map(tuple),
    max_turns=small,
    tools=st.lists(text, max_size=2).map(tuple),
)


@given(options)
def test_options(value):
    assert convert.options_from_pb(convert.options_to_pb(value)) == value


@given(observations)
def test_observations(value):
    assert convert.observation_from_pb(convert.observation_to_pb(value)) == value


@given(steps)
def test_steps(value):
    assert convert.step_from_pb(convert.step_to_pb(value, with_bytes=True)) == value


@given(resets)
def test_resets(value):
    assert convert.reset_from_pb(convert.reset_to_pb(value)) == value


@given(infos)
def test_tasks(value):
    assert convert.task_from_pb(convert.task_to_pb(value)) == value


@given(calls)
def test_calls(value):
    assert convert.calls_from_pb(convert.calls_to_pb([value])) == (value,)


def test_unset_options_are_the_defaults():
    assert convert.options_from_pb(pb.Options()) == SessionOptions()


def test_an_image_that_the_client_holds_travels_without_its_bytes():
    image = ImageRef(data=b"abc", format=ImageFormat.PNG, width_px=1, height_px=2, digest="d")
    message = convert.observation_to_pb(Observation(sequence=1, image=image), with_bytes=False)
    back = convert.observation_from_pb(message).image
    assert (back.data, back.digest, back.format) == (b"", "d", ImageFormat.PNG)


def test_calls_without_ids_are_numbered():
    made = convert.calls_from_pb([pb.ToolCall(name="a"), pb.ToolCall(name="b", id="x"), pb.ToolCall(name="c")])
    assert [call.id for call in made] == ["0", "x", "2"]
    assert made[0].arguments == {}


@pytest.mark.parametrize(
    "text", ["{", "[1]", '"a"', "null", "[" * 100_000, "\x00", '{"a":' + "[" * 70 + "]" * 70 + "}"]
)
def test_arguments_that_are_no_json_object_make_a_call_that_is_rejected(text):
    (read,) = convert.calls_from_pb([pb.ToolCall(name="phone", arguments_json=text)])
    assert "arguments" in read.unreadable


def test_undefined_enumerators_are_refused():
    with pytest.raises(errors.TaskError, match="coordinates 99"):
        convert.options_from_pb(pb.Options(coordinates=99))  # type: ignore[arg-type]


def test_splits():
    assert convert.split_from_pb("") == "train"
    assert convert.split_from_pb("test") == "test"
    with pytest.raises(errors.TaskError, match="no split 'dev'; there are: train, validation, test"):
        convert.split_from_pb("dev")


@pytest.mark.parametrize(
    "error",
    [
        errors.TaskError("a"),
        errors.UnknownName("b"),
        errors.SessionNotFound("c"),
        errors.OutOfOrder("d"),
        errors.EpisodeOver("e"),
        errors.LimitExceeded("f"),
        errors.InfrastructureError("g"),
        errors.EnvironmentFault("h"),
        errors.JudgeError("i"),
        device_failure(DeviceLost("j"), "step 1"),
        device_failure(DeviceTimeout("k"), "step 2"),
    ],
    ids=lambda error: error.reason,
)
def test_every_error_comes_back_as_itself(error):
    code, message, metadata = to_status(error)
    assert code is CODES[error.reason]
    back = from_metadata(message, metadata)
    assert type(back) is type(error)
    assert (str(back), back.reason, back.blame, back.retryable) == (
        str(error),
        error.reason,
        error.blame,
        error.retryable,
    )


def test_a_status_without_details_is_none_of_ours():
    assert from_metadata("x", [("other", b"y"), ("grpc-status-details-bin", "text")]) is None
