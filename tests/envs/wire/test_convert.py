"""Every value survives the wire."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import is_dataclass
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlfactory.emulators.device.errors import DeviceLost, DeviceTimeout
from rlfactory.envs.api import errors
from rlfactory.envs.api.types import (
    ImageFormat,
    ImageRef,
    Observation,
    ResetResult,
    SessionOptions,
    StepResult,
    TaskInfo,
    ToolCall,
    split_named,
)
from rlfactory.envs.wire import convert
from rlfactory.envs.wire.faults import CODES, device_failure, from_metadata, to_status
from rlfactory.envs.wire.v1 import env_pb2 as pb

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
number = st.floats(allow_nan=False, allow_infinity=False)
json_object = st.dictionaries(
    text,
    st.recursive(
        st.none() | st.booleans() | st.integers() | number | text,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    **{str: text, float: number, int: st.integers(0, 2**31), bool: st.booleans(), NoneType: st.none()},
    bytes: st.binary(min_size=1, max_size=50),
}
ABOVE_ZERO = {**PLAIN, int: st.integers(1, 100), float: st.floats(0.001, 1e6)}
"""For options: 0 means that one is not set."""


def drawn(kind: Any, plain: dict[Any, st.SearchStrategy[Any]] = PLAIN) -> st.SearchStrategy[Any]:
    """Return values of a type of `envs.api.types`: every field, whatever its default, is drawn by its type."""
    arguments = get_args(kind)
    if kind in plain:
        return plain[kind]
    if isinstance(kind, type) and is_dataclass(kind):
        return st.builds(kind, **{name: drawn(each, plain) for name, each in get_type_hints(kind).items()})
    if get_origin(kind) is tuple:
        return st.lists(drawn(arguments[0], plain), max_size=3).map(tuple)
    if get_origin(kind) is Mapping:
        return st.dictionaries(text, number, max_size=3) if arguments[1] is float else json_object
    if get_origin(kind) is UnionType:
        return st.one_of(*(drawn(each, plain) for each in arguments))
    return st.sampled_from(arguments or kind)  # words, or an enum


def observation_message(observation: Observation, *, with_bytes: bool = True) -> pb.Observation:
    message = pb.Observation()
    convert.observation_to_pb(message, observation, with_bytes=with_bytes)
    return message


@pytest.mark.parametrize(
    ("values", "there_and_back"),
    [
        (drawn(SessionOptions, ABOVE_ZERO), lambda value: convert.options_from_pb(convert.options_to_pb(value))),
        (drawn(Observation), lambda value: convert.observation_from_pb(observation_message(value))),
        (drawn(ResetResult), lambda value: convert.reset_from_pb(convert.reset_to_pb(value))),
        (drawn(TaskInfo), lambda value: convert.task_from_pb(convert.task_to_pb(value))),
        (drawn(StepResult), lambda value: convert.step_from_pb(convert.step_to_pb(value, with_bytes=True))),
        (
            st.builds(ToolCall, id=text.filter(bool), name=text, arguments=json_object),
            lambda value: convert.calls_from_pb(convert.calls_to_pb([value]))[0],
        ),
    ],
    ids=["options", "observation", "reset", "task", "step", "call"],
)
@given(data=st.data())
def test_every_value_comes_back_equal(values, there_and_back, data):
    value = data.draw(values)
    assert there_and_back(value) == value


def test_unset_options_are_the_defaults():
    assert convert.options_from_pb(pb.Options()) == SessionOptions()


def test_an_image_that_the_client_holds_travels_without_its_bytes():
    image = ImageRef(data=b"abc", format=ImageFormat.PNG, width_px=1, height_px=2, digest="d")
    message = observation_message(Observation(sequence=1, image=image), with_bytes=False)
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


def test_arguments_of_too_many_values_are_not_read():
    many = json.dumps({"a": list(range(10_000))})
    calls = convert.calls_from_pb([pb.ToolCall(name="phone", arguments_json=each) for each in (many, many, "{}")])
    assert [bool(call.unreadable) for call in calls] == [False, True, True]
    assert "more than 16384 values" in calls[1].unreadable


def test_what_looks_like_values_in_a_text_does_not_count():
    table = json.dumps({"code": "1,2,[3\n" * 20_000})
    (read,) = convert.calls_from_pb([pb.ToolCall(name="python", arguments_json=table)])
    assert not read.unreadable
    assert read.arguments == json.loads(table)


@pytest.mark.parametrize(
    "text",
    [
        f'{{"a": [{"{}," * 600_000}1]}}',
        json.dumps({"a": [{"a": n} for n in range(60_000)]}),
        json.dumps({"a": [10**4_000] * 200}),
        '{"a":"' + '\\"' * 400_000 + "," * 20_000,
    ],
)
def test_arguments_that_would_take_long_are_told_from_others_soon(text):
    begun_s = time.thread_time()
    (read,) = convert.calls_from_pb([pb.ToolCall(name="phone", arguments_json=text)])
    took_s = time.thread_time() - begun_s
    assert read.unreadable
    assert took_s < 0.05


def test_a_long_number_is_the_models_mistake_and_a_long_text_of_digits_is_none():
    calls = [pb.ToolCall(name=f"t{n}", arguments_json=f'{{"a": {what}}}') for n, what in enumerate(("7" * 401, '"7"'))]
    text = pb.ToolCall(name="text", arguments_json=json.dumps({"a": "7" * 5_000, "b": 10**399}))
    long, short, digits = convert.calls_from_pb([*calls, text])
    assert "401 digits" in long.unreadable
    assert not short.unreadable and not digits.unreadable


def test_undefined_enumerators_are_refused():
    with pytest.raises(errors.TaskError, match="coordinates 99"):
        convert.options_from_pb(pb.Options(coordinates=99))  # type: ignore[arg-type]


def test_splits():
    assert convert.split_from_pb(pb.SPLIT_UNSPECIFIED) is None
    assert convert.split_from_pb(pb.SPLIT_TEST) == "test"
    with pytest.raises(errors.TaskError, match="split 9 is not defined"):
        convert.split_from_pb(9)  # type: ignore[arg-type]
    with pytest.raises(errors.TaskError, match="no split 'dev'; there are: train, validation, test"):
        split_named("dev")


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
