from google.protobuf import any_pb2 as _any_pb2
from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ImageFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    IMAGE_FORMAT_UNSPECIFIED: _ClassVar[ImageFormat]
    IMAGE_FORMAT_JPEG: _ClassVar[ImageFormat]
    IMAGE_FORMAT_PNG: _ClassVar[ImageFormat]
    IMAGE_FORMAT_WEBP: _ClassVar[ImageFormat]

class CoordinateFrame(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COORDINATE_FRAME_UNSPECIFIED: _ClassVar[CoordinateFrame]
    COORDINATE_FRAME_DEVICE_PX: _ClassVar[CoordinateFrame]
    COORDINATE_FRAME_IMAGE_PX: _ClassVar[CoordinateFrame]
    COORDINATE_FRAME_PERMILLE_999: _ClassVar[CoordinateFrame]
    COORDINATE_FRAME_PERMILLE_1000: _ClassVar[CoordinateFrame]

class Split(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SPLIT_UNSPECIFIED: _ClassVar[Split]
    SPLIT_TRAIN: _ClassVar[Split]
    SPLIT_VALIDATION: _ClassVar[Split]
    SPLIT_TEST: _ClassVar[Split]

class ToolStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_STATUS_UNSPECIFIED: _ClassVar[ToolStatus]
    TOOL_STATUS_OK: _ClassVar[ToolStatus]
    TOOL_STATUS_REJECTED: _ClassVar[ToolStatus]
    TOOL_STATUS_ERROR: _ClassVar[ToolStatus]
    TOOL_STATUS_TIMEOUT: _ClassVar[ToolStatus]
    TOOL_STATUS_CANCELLED: _ClassVar[ToolStatus]

class EpisodeState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EPISODE_STATE_UNSPECIFIED: _ClassVar[EpisodeState]
    EPISODE_STATE_RUNNING: _ClassVar[EpisodeState]
    EPISODE_STATE_FINISHED: _ClassVar[EpisodeState]
    EPISODE_STATE_TRUNCATED: _ClassVar[EpisodeState]

class PhoneState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PHONE_STATE_UNSPECIFIED: _ClassVar[PhoneState]
    PHONE_STATE_STARTING: _ClassVar[PhoneState]
    PHONE_STATE_READY: _ClassVar[PhoneState]
    PHONE_STATE_PROBED: _ClassVar[PhoneState]
    PHONE_STATE_LEASED: _ClassVar[PhoneState]
    PHONE_STATE_RESETTING: _ClassVar[PhoneState]
    PHONE_STATE_QUARANTINED: _ClassVar[PhoneState]

class EventKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_KIND_UNSPECIFIED: _ClassVar[EventKind]
    EVENT_KIND_RESET: _ClassVar[EventKind]
    EVENT_KIND_STEP: _ClassVar[EventKind]
    EVENT_KIND_FORK: _ClassVar[EventKind]
    EVENT_KIND_CLOSE: _ClassVar[EventKind]
    EVENT_KIND_LEASE_EXPIRED: _ClassVar[EventKind]
    EVENT_KIND_FAILURE: _ClassVar[EventKind]
    EVENT_KIND_PHONE: _ClassVar[EventKind]
IMAGE_FORMAT_UNSPECIFIED: ImageFormat
IMAGE_FORMAT_JPEG: ImageFormat
IMAGE_FORMAT_PNG: ImageFormat
IMAGE_FORMAT_WEBP: ImageFormat
COORDINATE_FRAME_UNSPECIFIED: CoordinateFrame
COORDINATE_FRAME_DEVICE_PX: CoordinateFrame
COORDINATE_FRAME_IMAGE_PX: CoordinateFrame
COORDINATE_FRAME_PERMILLE_999: CoordinateFrame
COORDINATE_FRAME_PERMILLE_1000: CoordinateFrame
SPLIT_UNSPECIFIED: Split
SPLIT_TRAIN: Split
SPLIT_VALIDATION: Split
SPLIT_TEST: Split
TOOL_STATUS_UNSPECIFIED: ToolStatus
TOOL_STATUS_OK: ToolStatus
TOOL_STATUS_REJECTED: ToolStatus
TOOL_STATUS_ERROR: ToolStatus
TOOL_STATUS_TIMEOUT: ToolStatus
TOOL_STATUS_CANCELLED: ToolStatus
EPISODE_STATE_UNSPECIFIED: EpisodeState
EPISODE_STATE_RUNNING: EpisodeState
EPISODE_STATE_FINISHED: EpisodeState
EPISODE_STATE_TRUNCATED: EpisodeState
PHONE_STATE_UNSPECIFIED: PhoneState
PHONE_STATE_STARTING: PhoneState
PHONE_STATE_READY: PhoneState
PHONE_STATE_PROBED: PhoneState
PHONE_STATE_LEASED: PhoneState
PHONE_STATE_RESETTING: PhoneState
PHONE_STATE_QUARANTINED: PhoneState
EVENT_KIND_UNSPECIFIED: EventKind
EVENT_KIND_RESET: EventKind
EVENT_KIND_STEP: EventKind
EVENT_KIND_FORK: EventKind
EVENT_KIND_CLOSE: EventKind
EVENT_KIND_LEASE_EXPIRED: EventKind
EVENT_KIND_FAILURE: EventKind
EVENT_KIND_PHONE: EventKind

class HandshakeRequest(_message.Message):
    __slots__ = ("oldest_protocol", "newest_protocol", "needs")
    OLDEST_PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    NEWEST_PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    oldest_protocol: int
    newest_protocol: int
    needs: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, oldest_protocol: _Optional[int] = ..., newest_protocol: _Optional[int] = ..., needs: _Optional[_Iterable[str]] = ...) -> None: ...

class HandshakeResponse(_message.Message):
    __slots__ = ("protocol", "version", "capabilities")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    protocol: int
    version: str
    capabilities: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, protocol: _Optional[int] = ..., version: _Optional[str] = ..., capabilities: _Optional[_Iterable[str]] = ...) -> None: ...

class ListTasksRequest(_message.Message):
    __slots__ = ("suite", "split")
    SUITE_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    suite: str
    split: Split
    def __init__(self, suite: _Optional[str] = ..., split: _Optional[_Union[Split, str]] = ...) -> None: ...

class ListTasksResponse(_message.Message):
    __slots__ = ("tasks",)
    TASKS_FIELD_NUMBER: _ClassVar[int]
    tasks: _containers.RepeatedCompositeFieldContainer[Task]
    def __init__(self, tasks: _Optional[_Iterable[_Union[Task, _Mapping]]] = ...) -> None: ...

class Task(_message.Message):
    __slots__ = ("name", "suite", "description", "apps", "max_turns", "tools", "splits")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SUITE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    APPS_FIELD_NUMBER: _ClassVar[int]
    MAX_TURNS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    SPLITS_FIELD_NUMBER: _ClassVar[int]
    name: str
    suite: str
    description: str
    apps: _containers.RepeatedScalarFieldContainer[str]
    max_turns: int
    tools: _containers.RepeatedScalarFieldContainer[str]
    splits: _containers.RepeatedScalarFieldContainer[Split]
    def __init__(self, name: _Optional[str] = ..., suite: _Optional[str] = ..., description: _Optional[str] = ..., apps: _Optional[_Iterable[str]] = ..., max_turns: _Optional[int] = ..., tools: _Optional[_Iterable[str]] = ..., splits: _Optional[_Iterable[_Union[Split, str]]] = ...) -> None: ...

class ResetRequest(_message.Message):
    __slots__ = ("task", "seed", "options", "request_id", "split")
    TASK_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    task: str
    seed: int
    options: Options
    request_id: str
    split: Split
    def __init__(self, task: _Optional[str] = ..., seed: _Optional[int] = ..., options: _Optional[_Union[Options, _Mapping]] = ..., request_id: _Optional[str] = ..., split: _Optional[_Union[Split, str]] = ...) -> None: ...

class Options(_message.Message):
    __slots__ = ("image_format", "image_quality", "max_pixels", "multiple_px", "without_image", "with_tree", "coordinates", "max_turns", "lease_s", "step_timeout_s", "group", "perturb", "phone_wait_s", "extensions")
    IMAGE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    IMAGE_QUALITY_FIELD_NUMBER: _ClassVar[int]
    MAX_PIXELS_FIELD_NUMBER: _ClassVar[int]
    MULTIPLE_PX_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_IMAGE_FIELD_NUMBER: _ClassVar[int]
    WITH_TREE_FIELD_NUMBER: _ClassVar[int]
    COORDINATES_FIELD_NUMBER: _ClassVar[int]
    MAX_TURNS_FIELD_NUMBER: _ClassVar[int]
    LEASE_S_FIELD_NUMBER: _ClassVar[int]
    STEP_TIMEOUT_S_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    PERTURB_FIELD_NUMBER: _ClassVar[int]
    PHONE_WAIT_S_FIELD_NUMBER: _ClassVar[int]
    EXTENSIONS_FIELD_NUMBER: _ClassVar[int]
    image_format: ImageFormat
    image_quality: int
    max_pixels: int
    multiple_px: int
    without_image: bool
    with_tree: bool
    coordinates: CoordinateFrame
    max_turns: int
    lease_s: float
    step_timeout_s: float
    group: str
    perturb: str
    phone_wait_s: float
    extensions: _containers.RepeatedCompositeFieldContainer[_any_pb2.Any]
    def __init__(self, image_format: _Optional[_Union[ImageFormat, str]] = ..., image_quality: _Optional[int] = ..., max_pixels: _Optional[int] = ..., multiple_px: _Optional[int] = ..., without_image: _Optional[bool] = ..., with_tree: _Optional[bool] = ..., coordinates: _Optional[_Union[CoordinateFrame, str]] = ..., max_turns: _Optional[int] = ..., lease_s: _Optional[float] = ..., step_timeout_s: _Optional[float] = ..., group: _Optional[str] = ..., perturb: _Optional[str] = ..., phone_wait_s: _Optional[float] = ..., extensions: _Optional[_Iterable[_Union[_any_pb2.Any, _Mapping]]] = ...) -> None: ...

class ResetResponse(_message.Message):
    __slots__ = ("session", "goal", "tools", "observation", "max_turns", "lease_expiry_s", "state_hash", "build", "task_digest", "perturb", "progress")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    MAX_TURNS_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRY_S_FIELD_NUMBER: _ClassVar[int]
    STATE_HASH_FIELD_NUMBER: _ClassVar[int]
    BUILD_FIELD_NUMBER: _ClassVar[int]
    TASK_DIGEST_FIELD_NUMBER: _ClassVar[int]
    PERTURB_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    session: str
    goal: str
    tools: _containers.RepeatedCompositeFieldContainer[ToolSchema]
    observation: Observation
    max_turns: int
    lease_expiry_s: float
    state_hash: str
    build: str
    task_digest: str
    perturb: str
    progress: float
    def __init__(self, session: _Optional[str] = ..., goal: _Optional[str] = ..., tools: _Optional[_Iterable[_Union[ToolSchema, _Mapping]]] = ..., observation: _Optional[_Union[Observation, _Mapping]] = ..., max_turns: _Optional[int] = ..., lease_expiry_s: _Optional[float] = ..., state_hash: _Optional[str] = ..., build: _Optional[str] = ..., task_digest: _Optional[str] = ..., perturb: _Optional[str] = ..., progress: _Optional[float] = ...) -> None: ...

class ToolSchema(_message.Message):
    __slots__ = ("name", "description", "parameters_json")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_JSON_FIELD_NUMBER: _ClassVar[int]
    name: str
    description: str
    parameters_json: str
    def __init__(self, name: _Optional[str] = ..., description: _Optional[str] = ..., parameters_json: _Optional[str] = ...) -> None: ...

class StepRequest(_message.Message):
    __slots__ = ("session", "seq", "calls", "traceparent")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    session: str
    seq: int
    calls: _containers.RepeatedCompositeFieldContainer[ToolCall]
    traceparent: str
    def __init__(self, session: _Optional[str] = ..., seq: _Optional[int] = ..., calls: _Optional[_Iterable[_Union[ToolCall, _Mapping]]] = ..., traceparent: _Optional[str] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("id", "name", "arguments_json")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_JSON_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    arguments_json: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., arguments_json: _Optional[str] = ...) -> None: ...

class ToolResult(_message.Message):
    __slots__ = ("call_id", "name", "status", "text", "duration_s")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    DURATION_S_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    name: str
    status: ToolStatus
    text: str
    duration_s: float
    def __init__(self, call_id: _Optional[str] = ..., name: _Optional[str] = ..., status: _Optional[_Union[ToolStatus, str]] = ..., text: _Optional[str] = ..., duration_s: _Optional[float] = ...) -> None: ...

class Image(_message.Message):
    __slots__ = ("data", "format", "width_px", "height_px", "digest")
    DATA_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    WIDTH_PX_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_PX_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    format: ImageFormat
    width_px: int
    height_px: int
    digest: str
    def __init__(self, data: _Optional[bytes] = ..., format: _Optional[_Union[ImageFormat, str]] = ..., width_px: _Optional[int] = ..., height_px: _Optional[int] = ..., digest: _Optional[str] = ...) -> None: ...

class Observation(_message.Message):
    __slots__ = ("sequence", "image", "tree_xml", "activity", "width_px", "height_px", "text", "extensions")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    TREE_XML_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    WIDTH_PX_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_PX_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    EXTENSIONS_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    image: Image
    tree_xml: str
    activity: str
    width_px: int
    height_px: int
    text: str
    extensions: _containers.RepeatedCompositeFieldContainer[_any_pb2.Any]
    def __init__(self, sequence: _Optional[int] = ..., image: _Optional[_Union[Image, _Mapping]] = ..., tree_xml: _Optional[str] = ..., activity: _Optional[str] = ..., width_px: _Optional[int] = ..., height_px: _Optional[int] = ..., text: _Optional[str] = ..., extensions: _Optional[_Iterable[_Union[_any_pb2.Any, _Mapping]]] = ...) -> None: ...

class Reward(_message.Message):
    __slots__ = ("total", "parts", "progress", "success", "side_effects")
    class PartsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_FIELD_NUMBER: _ClassVar[int]
    SIDE_EFFECTS_FIELD_NUMBER: _ClassVar[int]
    total: float
    parts: _containers.ScalarMap[str, float]
    progress: float
    success: bool
    side_effects: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, total: _Optional[float] = ..., parts: _Optional[_Mapping[str, float]] = ..., progress: _Optional[float] = ..., success: _Optional[bool] = ..., side_effects: _Optional[_Iterable[str]] = ...) -> None: ...

class Timing(_message.Message):
    __slots__ = ("act_s", "settle_s", "observe_s", "judge_s", "total_s")
    ACT_S_FIELD_NUMBER: _ClassVar[int]
    SETTLE_S_FIELD_NUMBER: _ClassVar[int]
    OBSERVE_S_FIELD_NUMBER: _ClassVar[int]
    JUDGE_S_FIELD_NUMBER: _ClassVar[int]
    TOTAL_S_FIELD_NUMBER: _ClassVar[int]
    act_s: float
    settle_s: float
    observe_s: float
    judge_s: float
    total_s: float
    def __init__(self, act_s: _Optional[float] = ..., settle_s: _Optional[float] = ..., observe_s: _Optional[float] = ..., judge_s: _Optional[float] = ..., total_s: _Optional[float] = ...) -> None: ...

class StepResponse(_message.Message):
    __slots__ = ("results", "observation", "reward", "state", "timing", "lease_expiry_s", "state_hash")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    OBSERVATION_FIELD_NUMBER: _ClassVar[int]
    REWARD_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TIMING_FIELD_NUMBER: _ClassVar[int]
    LEASE_EXPIRY_S_FIELD_NUMBER: _ClassVar[int]
    STATE_HASH_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ToolResult]
    observation: Observation
    reward: Reward
    state: EpisodeState
    timing: Timing
    lease_expiry_s: float
    state_hash: str
    def __init__(self, results: _Optional[_Iterable[_Union[ToolResult, _Mapping]]] = ..., observation: _Optional[_Union[Observation, _Mapping]] = ..., reward: _Optional[_Union[Reward, _Mapping]] = ..., state: _Optional[_Union[EpisodeState, str]] = ..., timing: _Optional[_Union[Timing, _Mapping]] = ..., lease_expiry_s: _Optional[float] = ..., state_hash: _Optional[str] = ...) -> None: ...

class StepsRequest(_message.Message):
    __slots__ = ("steps", "given_up")
    STEPS_FIELD_NUMBER: _ClassVar[int]
    GIVEN_UP_FIELD_NUMBER: _ClassVar[int]
    steps: _containers.RepeatedCompositeFieldContainer[NumberedStep]
    given_up: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, steps: _Optional[_Iterable[_Union[NumberedStep, _Mapping]]] = ..., given_up: _Optional[_Iterable[int]] = ...) -> None: ...

class NumberedStep(_message.Message):
    __slots__ = ("number", "step")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    number: int
    step: StepRequest
    def __init__(self, number: _Optional[int] = ..., step: _Optional[_Union[StepRequest, _Mapping]] = ...) -> None: ...

class StepsResponse(_message.Message):
    __slots__ = ("outcomes", "load")
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    LOAD_FIELD_NUMBER: _ClassVar[int]
    outcomes: _containers.RepeatedCompositeFieldContainer[StepOutcome]
    load: Load
    def __init__(self, outcomes: _Optional[_Iterable[_Union[StepOutcome, _Mapping]]] = ..., load: _Optional[_Union[Load, _Mapping]] = ...) -> None: ...

class Load(_message.Message):
    __slots__ = ("phones", "free", "waiting", "sessions", "draining")
    PHONES_FIELD_NUMBER: _ClassVar[int]
    FREE_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    phones: int
    free: int
    waiting: int
    sessions: int
    draining: int
    def __init__(self, phones: _Optional[int] = ..., free: _Optional[int] = ..., waiting: _Optional[int] = ..., sessions: _Optional[int] = ..., draining: _Optional[int] = ...) -> None: ...

class StepOutcome(_message.Message):
    __slots__ = ("number", "response", "status")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    number: int
    response: StepResponse
    status: _status_pb2.Status
    def __init__(self, number: _Optional[int] = ..., response: _Optional[_Union[StepResponse, _Mapping]] = ..., status: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class ForkRequest(_message.Message):
    __slots__ = ("session", "n", "request_id")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    session: str
    n: int
    request_id: str
    def __init__(self, session: _Optional[str] = ..., n: _Optional[int] = ..., request_id: _Optional[str] = ...) -> None: ...

class ForkResponse(_message.Message):
    __slots__ = ("sessions",)
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[ResetResponse]
    def __init__(self, sessions: _Optional[_Iterable[_Union[ResetResponse, _Mapping]]] = ...) -> None: ...

class CloseSessionRequest(_message.Message):
    __slots__ = ("session", "request_id")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    session: str
    request_id: str
    def __init__(self, session: _Optional[str] = ..., request_id: _Optional[str] = ...) -> None: ...

class CloseSessionResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RenewRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: str
    def __init__(self, session: _Optional[str] = ...) -> None: ...

class RenewResponse(_message.Message):
    __slots__ = ("lease_expiry_s",)
    LEASE_EXPIRY_S_FIELD_NUMBER: _ClassVar[int]
    lease_expiry_s: float
    def __init__(self, lease_expiry_s: _Optional[float] = ...) -> None: ...

class StatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StatusResponse(_message.Message):
    __slots__ = ("version", "uptime_s", "sessions", "max_sessions", "phones", "counters", "waiting", "starts_paused_s")
    class CountersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    UPTIME_S_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_SESSIONS_FIELD_NUMBER: _ClassVar[int]
    PHONES_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    STARTS_PAUSED_S_FIELD_NUMBER: _ClassVar[int]
    version: str
    uptime_s: float
    sessions: int
    max_sessions: int
    phones: _containers.RepeatedCompositeFieldContainer[Phone]
    counters: _containers.ScalarMap[str, float]
    waiting: int
    starts_paused_s: float
    def __init__(self, version: _Optional[str] = ..., uptime_s: _Optional[float] = ..., sessions: _Optional[int] = ..., max_sessions: _Optional[int] = ..., phones: _Optional[_Iterable[_Union[Phone, _Mapping]]] = ..., counters: _Optional[_Mapping[str, float]] = ..., waiting: _Optional[int] = ..., starts_paused_s: _Optional[float] = ...) -> None: ...

class Phone(_message.Message):
    __slots__ = ("serial", "session", "age_s", "resets", "failures", "recycled", "memory_bytes", "last_error", "host", "state")
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    AGE_S_FIELD_NUMBER: _ClassVar[int]
    RESETS_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    RECYCLED_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    LAST_ERROR_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    serial: str
    session: str
    age_s: float
    resets: int
    failures: int
    recycled: int
    memory_bytes: int
    last_error: str
    host: str
    state: PhoneState
    def __init__(self, serial: _Optional[str] = ..., session: _Optional[str] = ..., age_s: _Optional[float] = ..., resets: _Optional[int] = ..., failures: _Optional[int] = ..., recycled: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., last_error: _Optional[str] = ..., host: _Optional[str] = ..., state: _Optional[_Union[PhoneState, str]] = ...) -> None: ...

class WatchRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: str
    def __init__(self, session: _Optional[str] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("time_s", "session", "message", "dropped", "kind")
    TIME_S_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    time_s: float
    session: str
    message: str
    dropped: int
    kind: EventKind
    def __init__(self, time_s: _Optional[float] = ..., session: _Optional[str] = ..., message: _Optional[str] = ..., dropped: _Optional[int] = ..., kind: _Optional[_Union[EventKind, str]] = ...) -> None: ...
