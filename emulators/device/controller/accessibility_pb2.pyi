from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ForestResponse(_message.Message):
    __slots__ = ("error",)
    ERROR_FIELD_NUMBER: _ClassVar[int]
    error: str
    def __init__(self, error: _Optional[str] = ...) -> None: ...

class AndroidAccessibilityForest(_message.Message):
    __slots__ = ("windows",)
    WINDOWS_FIELD_NUMBER: _ClassVar[int]
    windows: _containers.RepeatedCompositeFieldContainer[AndroidAccessibilityWindowInfo]
    def __init__(self, windows: _Optional[_Iterable[_Union[AndroidAccessibilityWindowInfo, _Mapping]]] = ...) -> None: ...

class AndroidAccessibilityWindowInfo(_message.Message):
    __slots__ = ("bounds_in_screen", "id", "window_type", "is_active", "is_focused", "tree")
    class WindowType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN_TYPE: _ClassVar[AndroidAccessibilityWindowInfo.WindowType]
        TYPE_APPLICATION: _ClassVar[AndroidAccessibilityWindowInfo.WindowType]
    UNKNOWN_TYPE: AndroidAccessibilityWindowInfo.WindowType
    TYPE_APPLICATION: AndroidAccessibilityWindowInfo.WindowType
    BOUNDS_IN_SCREEN_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    WINDOW_TYPE_FIELD_NUMBER: _ClassVar[int]
    IS_ACTIVE_FIELD_NUMBER: _ClassVar[int]
    IS_FOCUSED_FIELD_NUMBER: _ClassVar[int]
    TREE_FIELD_NUMBER: _ClassVar[int]
    bounds_in_screen: ProtoRect
    id: int
    window_type: AndroidAccessibilityWindowInfo.WindowType
    is_active: bool
    is_focused: bool
    tree: AndroidAccessibilityTree
    def __init__(self, bounds_in_screen: _Optional[_Union[ProtoRect, _Mapping]] = ..., id: _Optional[int] = ..., window_type: _Optional[_Union[AndroidAccessibilityWindowInfo.WindowType, str]] = ..., is_active: _Optional[bool] = ..., is_focused: _Optional[bool] = ..., tree: _Optional[_Union[AndroidAccessibilityTree, _Mapping]] = ...) -> None: ...

class AndroidAccessibilityTree(_message.Message):
    __slots__ = ("nodes",)
    NODES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[AndroidAccessibilityNodeInfo]
    def __init__(self, nodes: _Optional[_Iterable[_Union[AndroidAccessibilityNodeInfo, _Mapping]]] = ...) -> None: ...

class AndroidAccessibilityNodeInfo(_message.Message):
    __slots__ = ("unique_id", "bounds_in_screen", "class_name", "content_description", "hint_text", "package_name", "text", "view_id_resource_name", "window_id", "is_checkable", "is_checked", "is_clickable", "is_editable", "is_enabled", "is_focusable", "is_focused", "is_long_clickable", "is_password", "is_scrollable", "is_selected", "is_visible_to_user", "child_ids", "depth")
    UNIQUE_ID_FIELD_NUMBER: _ClassVar[int]
    BOUNDS_IN_SCREEN_FIELD_NUMBER: _ClassVar[int]
    CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    CONTENT_DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    HINT_TEXT_FIELD_NUMBER: _ClassVar[int]
    PACKAGE_NAME_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    VIEW_ID_RESOURCE_NAME_FIELD_NUMBER: _ClassVar[int]
    WINDOW_ID_FIELD_NUMBER: _ClassVar[int]
    IS_CHECKABLE_FIELD_NUMBER: _ClassVar[int]
    IS_CHECKED_FIELD_NUMBER: _ClassVar[int]
    IS_CLICKABLE_FIELD_NUMBER: _ClassVar[int]
    IS_EDITABLE_FIELD_NUMBER: _ClassVar[int]
    IS_ENABLED_FIELD_NUMBER: _ClassVar[int]
    IS_FOCUSABLE_FIELD_NUMBER: _ClassVar[int]
    IS_FOCUSED_FIELD_NUMBER: _ClassVar[int]
    IS_LONG_CLICKABLE_FIELD_NUMBER: _ClassVar[int]
    IS_PASSWORD_FIELD_NUMBER: _ClassVar[int]
    IS_SCROLLABLE_FIELD_NUMBER: _ClassVar[int]
    IS_SELECTED_FIELD_NUMBER: _ClassVar[int]
    IS_VISIBLE_TO_USER_FIELD_NUMBER: _ClassVar[int]
    CHILD_IDS_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    unique_id: int
    bounds_in_screen: ProtoRect
    class_name: str
    content_description: str
    hint_text: str
    package_name: str
    text: str
    view_id_resource_name: str
    window_id: int
    is_checkable: bool
    is_checked: bool
    is_clickable: bool
    is_editable: bool
    is_enabled: bool
    is_focusable: bool
    is_focused: bool
    is_long_clickable: bool
    is_password: bool
    is_scrollable: bool
    is_selected: bool
    is_visible_to_user: bool
    child_ids: _containers.RepeatedScalarFieldContainer[int]
    depth: int
    def __init__(self, unique_id: _Optional[int] = ..., bounds_in_screen: _Optional[_Union[ProtoRect, _Mapping]] = ..., class_name: _Optional[str] = ..., content_description: _Optional[str] = ..., hint_text: _Optional[str] = ..., package_name: _Optional[str] = ..., text: _Optional[str] = ..., view_id_resource_name: _Optional[str] = ..., window_id: _Optional[int] = ..., is_checkable: _Optional[bool] = ..., is_checked: _Optional[bool] = ..., is_clickable: _Optional[bool] = ..., is_editable: _Optional[bool] = ..., is_enabled: _Optional[bool] = ..., is_focusable: _Optional[bool] = ..., is_focused: _Optional[bool] = ..., is_long_clickable: _Optional[bool] = ..., is_password: _Optional[bool] = ..., is_scrollable: _Optional[bool] = ..., is_selected: _Optional[bool] = ..., is_visible_to_user: _Optional[bool] = ..., child_ids: _Optional[_Iterable[int]] = ..., depth: _Optional[int] = ...) -> None: ...

class ProtoRect(_message.Message):
    __slots__ = ("left", "top", "right", "bottom")
    LEFT_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    RIGHT_FIELD_NUMBER: _ClassVar[int]
    BOTTOM_FIELD_NUMBER: _ClassVar[int]
    left: int
    top: int
    right: int
    bottom: int
    def __init__(self, left: _Optional[int] = ..., top: _Optional[int] = ..., right: _Optional[int] = ..., bottom: _Optional[int] = ...) -> None: ...
