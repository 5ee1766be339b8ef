"""Input events and input methods: input, ime."""

from __future__ import annotations

from typing import Final

from rlfactory.emulators.device.errors import ActionRejected
from rlfactory.emulators.device.keys import KEY_NAMES, KEYCODES
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError, Verbs

table = CommandTable()
_EVENTS: Final = Verbs()
_SOURCES: Final = frozenset(
    {"dpad", "gamepad", "joystick", "keyboard", "mouse", "stylus", "touchnavigation", "touchpad", "touchscreen"}
    | {"trackball", "rotaryencoder"}
)
_META: Final = {
    "SHIFT_LEFT": 0x41,
    "SHIFT_RIGHT": 0x81,
    "ALT_LEFT": 0x12,
    "ALT_RIGHT": 0x22,
    "CTRL_LEFT": 0x3000,
    "CTRL_RIGHT": 0x5000,
    "META_LEFT": 0x30000,
    "META_RIGHT": 0x50000,
}
"""Modifier keys -> the meta state they set (android.view.KeyEvent)."""
_MAX_DURATION_MS: Final = 60_000
_TOUCH_RANGE: Final = 32_767
"""Largest coordinate of the emulator's touch device, whatever the screen's size."""
_LATIN_IME: Final = "com.google.android.inputmethod.latin/com.android.inputmethod.latin.LatinIME"


def key_name(word: str) -> str:
    """Return a key's name for a code, a name or a name with prefix. Raises: UsageError."""
    name = word.upper().removeprefix("KEYCODE_")
    if name in KEYCODES:
        return name
    code = int(word) if word.isdigit() and len(word) < 5 else -1
    if code not in KEY_NAMES:
        raise UsageError(f"Error: Unknown keycode: {word}")
    return KEY_NAMES[code]


def _numbers(words: list[str], least: int, most: int) -> list[int]:
    """Read coordinates and durations; empty words are skipped, as some clients leave one at the end."""
    texts = [word for word in words if word]
    if not least <= len(texts) <= most:
        raise UsageError("Error: Invalid arguments for command")
    try:
        return [round(float(text)) for text in texts]
    except (ValueError, OverflowError):
        raise UsageError(f"Error: Invalid arguments for command: {' '.join(texts)[:60]}") from None


def _duration(numbers: list[int], position: int, default: int) -> int:
    return min(max(numbers[position], 0), _MAX_DURATION_MS) if len(numbers) > position else default


@_EVENTS.verb("tap")
def _tap(context: Context, words: list[str]) -> None:
    x, y = _numbers(words, 2, 2)
    shell = context.shell
    if shell.last_tap == (x, y):
        # `input tap X Y && input tap X Y` is how a double tap is said.
        context.phone.second_tap(x, y)
        shell.last_tap = None
    else:
        context.phone.tap(x, y)
        shell.last_tap = (x, y)


@_EVENTS.verb("swipe")
def _swipe(context: Context, words: list[str]) -> None:
    numbers = _numbers(words, 4, 5)
    x1, y1, x2, y2 = numbers[:4]
    duration_ms = _duration(numbers, 4, 300)
    if (x1, y1) == (x2, y2) and duration_ms >= 500:
        context.phone.long_press(x1, y1, duration_ms)
    elif (x1, y1) == (x2, y2):
        context.phone.tap(x1, y1)
    else:
        context.phone.swipe(x1, y1, x2, y2, duration_ms)


@_EVENTS.verb("draganddrop")
def _drag(context: Context, words: list[str]) -> None:
    numbers = _numbers(words, 4, 5)
    x1, y1, x2, y2 = numbers[:4]
    context.phone.drag(x1, y1, x2, y2, _duration(numbers, 4, 300))


@_EVENTS.verb("text")
def _text(context: Context, words: list[str]) -> None:
    if len(words) != 1:
        raise UsageError("Error: Invalid arguments for command: text")
    context.phone.type_text(words[0].replace("%s", " "))


@_EVENTS.verb("keyevent")
def _keyevent(context: Context, words: list[str]) -> None:
    names = [key_name(word) for word in words if word and not word.startswith("--")]
    if not names:
        raise UsageError("Error: Invalid arguments for command: keyevent")
    for name in names:
        context.shell.budget.step()
        context.phone.key(name)


@_EVENTS.verb("keycombination")
def _combination(context: Context, words: list[str]) -> None:
    if words[:1] == ["-t"]:
        words = words[2:]
    names = [key_name(word) for word in words if word]
    if len(names) < 2:
        raise UsageError("Error: KEYCODE(s) missing")
    meta = 0
    for name in names:
        meta |= _META.get(name, 0)
    for name in names:
        if name not in _META:
            context.phone.key(name, meta)


@_EVENTS.verb("press", "roll")
def _nothing(context: Context, words: list[str]) -> None:
    """Events of devices that this phone does not have."""


@table.command("input")
def _input(context: Context) -> int:
    words = list(context.args)
    while words and words[0] in _SOURCES:
        words.pop(0)
    if words[:1] == ["-d"]:
        words = words[2:]
    event = _EVENTS.get(words[0]) if words else None
    if event is None:
        known = ", ".join(sorted(_EVENTS))
        return context.fail(f"Error: Unknown command: {words[0] if words else ''} (there are {known})", 255)
    try:
        if words[0] != "tap":
            context.shell.last_tap = None
        event(context, words[1:])
    except (UsageError, ActionRejected) as error:
        return context.complain(str(error), 255)
    return 0


@table.command("getevent")
def _getevent(context: Context) -> None:
    """The touch screen, as Android's emulator describes it; events themselves are not told."""
    ranges = ((0x2F, 9), (0x35, _TOUCH_RANGE), (0x36, _TOUCH_RANGE), (0x39, 0xFFFF))
    context.line('add device 1: /dev/input/event1\n  name:     "virtio_input_multi_touch_1"')
    if any("p" in arg or "i" in arg for arg in context.args):
        context.line("  events:\n    KEY (0001): 014a")
        for number, (axis, most) in enumerate(ranges):
            head = " " * 16 if number else "    ABS (0003): "
            context.line(f"{head}{axis:04x}  : value 0, min 0, max {most}, fuzz 0, flat 0, resolution 0")
        context.line("  input props:\n    INPUT_PROP_DIRECT")


@table.command("ime")
def _ime(context: Context) -> int:
    settings = context.state.settings
    match context.args:
        case ["list", *_]:
            context.line(_LATIN_IME if "-s" in context.args else f"{_LATIN_IME}:\n  mId={_LATIN_IME}")
        case ["set" | "enable", name]:
            if name != _LATIN_IME:
                return context.fail(f"Unknown input method {name} cannot be selected for user #0", 255)
            settings.put("secure", "default_input_method", name)
            context.line(f"Input method {name} selected for user #0")
        case ["disable" | "reset" | "help", *_]:
            pass
        case _:
            raise UsageError("usage: ime list [-a] [-s] | enable ID | disable ID | set ID | reset")
    return 0
