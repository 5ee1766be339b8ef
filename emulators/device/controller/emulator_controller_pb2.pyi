from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EmulatorStatus(_message.Message):
    __slots__ = ("version", "uptime", "booted")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    UPTIME_FIELD_NUMBER: _ClassVar[int]
    BOOTED_FIELD_NUMBER: _ClassVar[int]
    version: str
    uptime: int
    booted: bool
    def __init__(self, version: _Optional[str] = ..., uptime: _Optional[int] = ..., booted: _Optional[bool] = ...) -> None: ...

class ImageFormat(_message.Message):
    __slots__ = ("format", "width", "height", "display")
    class ImgFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        PNG: _ClassVar[ImageFormat.ImgFormat]
        RGBA8888: _ClassVar[ImageFormat.ImgFormat]
        RGB888: _ClassVar[ImageFormat.ImgFormat]
    PNG: ImageFormat.ImgFormat
    RGBA8888: ImageFormat.ImgFormat
    RGB888: ImageFormat.ImgFormat
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_FIELD_NUMBER: _ClassVar[int]
    format: ImageFormat.ImgFormat
    width: int
    height: int
    display: int
    def __init__(self, format: _Optional[_Union[ImageFormat.ImgFormat, str]] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., display: _Optional[int] = ...) -> None: ...

class Image(_message.Message):
    __slots__ = ("format", "image", "seq", "timestampUs")
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMPUS_FIELD_NUMBER: _ClassVar[int]
    format: ImageFormat
    image: bytes
    seq: int
    timestampUs: int
    def __init__(self, format: _Optional[_Union[ImageFormat, _Mapping]] = ..., image: _Optional[bytes] = ..., seq: _Optional[int] = ..., timestampUs: _Optional[int] = ...) -> None: ...

class Touch(_message.Message):
    __slots__ = ("x", "y", "identifier", "pressure")
    X_FIELD_NUMBER: _ClassVar[int]
    Y_FIELD_NUMBER: _ClassVar[int]
    IDENTIFIER_FIELD_NUMBER: _ClassVar[int]
    PRESSURE_FIELD_NUMBER: _ClassVar[int]
    x: int
    y: int
    identifier: int
    pressure: int
    def __init__(self, x: _Optional[int] = ..., y: _Optional[int] = ..., identifier: _Optional[int] = ..., pressure: _Optional[int] = ...) -> None: ...

class TouchEvent(_message.Message):
    __slots__ = ("touches", "display")
    TOUCHES_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_FIELD_NUMBER: _ClassVar[int]
    touches: _containers.RepeatedCompositeFieldContainer[Touch]
    display: int
    def __init__(self, touches: _Optional[_Iterable[_Union[Touch, _Mapping]]] = ..., display: _Optional[int] = ...) -> None: ...

class KeyboardEvent(_message.Message):
    __slots__ = ("codeType", "eventType", "keyCode", "key", "text")
    class KeyCodeType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        Usb: _ClassVar[KeyboardEvent.KeyCodeType]
        Evdev: _ClassVar[KeyboardEvent.KeyCodeType]
        XKB: _ClassVar[KeyboardEvent.KeyCodeType]
        Win: _ClassVar[KeyboardEvent.KeyCodeType]
        Mac: _ClassVar[KeyboardEvent.KeyCodeType]
    Usb: KeyboardEvent.KeyCodeType
    Evdev: KeyboardEvent.KeyCodeType
    XKB: KeyboardEvent.KeyCodeType
    Win: KeyboardEvent.KeyCodeType
    Mac: KeyboardEvent.KeyCodeType
    class KeyEventType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        keydown: _ClassVar[KeyboardEvent.KeyEventType]
        keyup: _ClassVar[KeyboardEvent.KeyEventType]
        keypress: _ClassVar[KeyboardEvent.KeyEventType]
    keydown: KeyboardEvent.KeyEventType
    keyup: KeyboardEvent.KeyEventType
    keypress: KeyboardEvent.KeyEventType
    CODETYPE_FIELD_NUMBER: _ClassVar[int]
    EVENTTYPE_FIELD_NUMBER: _ClassVar[int]
    KEYCODE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    codeType: KeyboardEvent.KeyCodeType
    eventType: KeyboardEvent.KeyEventType
    keyCode: int
    key: str
    text: str
    def __init__(self, codeType: _Optional[_Union[KeyboardEvent.KeyCodeType, str]] = ..., eventType: _Optional[_Union[KeyboardEvent.KeyEventType, str]] = ..., keyCode: _Optional[int] = ..., key: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...
