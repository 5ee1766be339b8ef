"""Reading intents from `am`'s arguments, and printing them as Android does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from rlfactory.emulators.simulator.android.app import Intent
from rlfactory.emulators.simulator.shell.commands.context import UsageError

_TEXT: Final = frozenset({"-e", "--es", "--eu", "--ecn", "--esn"})
_INTEGER: Final = frozenset({"--ei", "--el"})
_REAL: Final = frozenset({"--ef", "--ed"})
_LIST: Final = frozenset({"--esa", "--eia", "--ela", "--efa", "--esal", "--eial"})
_FIELDS: Final = {"-a": "action", "-d": "data", "-t": "mime_type", "-n": "component", "-p": "package"}
"""Option -> the field of `IntentArguments` that it sets."""
_IGNORED_WITH_VALUE: Final = frozenset(
    {"--user", "--display", "--windowingMode", "--activityType", "--task", "-P", "--start-profiler", "-R", "-i", "-f"}
    | {"--receiver-permission", "--grant-read-uri-permission", "--sampling", "--attach-agent", "--splashscreen-icon"}
)


@dataclass(kw_only=True, slots=True)
class IntentArguments:
    """An intent and the options that came with it."""

    action: str = ""
    data: str = ""
    mime_type: str = ""
    component: str = ""
    package: str = ""
    categories: list[str] = field(default_factory=list)
    extras: dict[str, object] = field(default_factory=dict)
    wait: bool = False
    stop_first: bool = False

    @property
    def intent(self) -> Intent:
        action = self.action or ("android.intent.action.VIEW" if self.data else "android.intent.action.MAIN")
        return Intent(action=action, data=self.data, mime_type=self.mime_type, extras=dict(self.extras))

    def __str__(self) -> str:
        told = {
            "act": self.action,
            "cat": f"[{','.join(self.categories)}]" if self.categories else "",
            "dat": _shortened(self.data),
            "typ": self.mime_type,
            "pkg": self.package,
            "cmp": _short(self.component),
        }
        parts = [f"{name}={value}" for name, value in told.items() if value] + ["(has extras)"] * bool(self.extras)
        return f"Intent {{ {' '.join(parts)} }}"


def _short(component: str) -> str:
    package, _, name = component.partition("/")
    return f"{package}/{name.removeprefix(package)}" if name.startswith(package + ".") else component


def _shortened(uri: str) -> str:
    scheme, separator, _ = uri.partition(":")
    return f"{scheme}:..." if separator and scheme in {"tel", "sms", "mailto", "smsto"} else uri


def parse_intent(args: list[str]) -> IntentArguments:
    """Read `am start`'s or `am broadcast`'s arguments. Raises: UsageError."""
    found = IntentArguments()
    words = [word for word in args if word]
    while words:
        word = words.pop(0)
        if word in {"-W", "-S"}:
            found.wait = found.wait or word == "-W"
            found.stop_first = found.stop_first or word == "-S"
        elif word == "--esn" and words:
            found.extras[words.pop(0)] = None
        elif word in _TEXT | _INTEGER | _REAL | _LIST | {"--ez"}:
            if len(words) < 2:
                raise UsageError(f'Argument expected after "{word}"')
            key, value = words.pop(0), words.pop(0)
            found.extras[key] = _value(word, value)
        elif word in _IGNORED_WITH_VALUE:
            words[:1] = []
        elif word in _FIELDS or word == "-c":
            if not words:
                raise UsageError(f'Argument expected after "{word}"')
            _set(found, word, words.pop(0))
        elif word.startswith("-"):
            if not word.startswith("--") and word not in {"-D", "-N"}:
                raise UsageError(f"Unknown option: {word}")
        else:
            _positional(found, word)
    return found


def _set(found: IntentArguments, option: str, value: str) -> None:
    if option == "-n" and "/" not in value:
        raise UsageError(f"Bad component name: {value}")
    if option == "-c":
        found.categories.append(value)
    else:
        setattr(found, _FIELDS[option], value)


def _positional(found: IntentArguments, word: str) -> None:
    """An argument without option is a URI, a component or a package."""
    setattr(found, "data" if ":" in word else "component" if "/" in word else "package", word)


def _value(option: str, value: str) -> object:
    try:
        if option in _INTEGER:
            return int(value, 0)
        if option in _REAL:
            return float(value)
    except ValueError:
        raise UsageError(f'java.lang.NumberFormatException: For input string: "{value}"') from None
    if option == "--ez":
        return value.lower() in {"true", "t", "1"}
    return tuple(value.split(",")) if option in _LIST else value
