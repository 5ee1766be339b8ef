"""echo and printf."""

from __future__ import annotations

import re
from typing import Final

from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context

table = CommandTable()
_ESCAPE: Final = re.compile(r"\\(0[0-7]{0,3}|x[0-9a-fA-F]{1,2}|[0-7]{1,3}|[abcefnrtv\\])")
_SIMPLE: Final = dict(zip("abefnrtv\\", "\a\b\x1b\f\n\r\t\v\\", strict=True))
_FORMAT: Final = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?([%a-zA-Z])")
_MAX_WIDTH: Final = 4096


class _StopError(Exception):
    """`\\c`: print nothing more."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def _byte(value: int) -> str:
    """Return a byte as the text that encodes to it."""
    return bytes([value & 255]).decode("utf-8", "surrogateescape")


def unescape(text: str, *, octal_needs_zero: bool) -> str:
    """Replace backslash escapes: those of echo and %b (octal as \\0nnn, and \\c), or those of printf's format (\\nnn).

    Raises: _StopError: at \\c, with what came before it.
    """
    out: list[str] = []
    position = 0
    for match in _ESCAPE.finditer(text):
        code = match.group(1)
        out.append(text[position : match.start()])
        position = match.end()
        if code == "c" and octal_needs_zero:
            raise _StopError("".join(out))
        if code == "c":
            out.append("\\c")
            continue
        if code in _SIMPLE:
            out.append(_SIMPLE[code])
        elif code[0] == "x":
            out.append(_byte(int(code[1:], 16)))
        elif octal_needs_zero and code[0] != "0":
            out.append("\\" + code)
        else:
            digits = code[1:] if octal_needs_zero else code[:3]
            out.append(_byte(int(digits or "0", 8)))
            position -= 0 if octal_needs_zero else len(code) - len(code[:3])
    out.append(text[position:])
    return "".join(out)


@table.command("echo")
def _echo(context: Context) -> None:
    words, newline, escapes = list(context.args), True, True
    while words and re.fullmatch(r"-[neE]+", words[0]):
        option = words.pop(0)
        newline = newline and "n" not in option
        escapes = True if "e" in option else (False if "E" in option else escapes)
    text = " ".join(words)
    if escapes and "\\" in text:
        try:
            text = unescape(text, octal_needs_zero=True)
        except _StopError as stop:
            context.out(stop.text)
            return
    context.out(text + ("\n" if newline else ""))


@table.command("printf")
def _printf(context: Context) -> int:
    if not context.args:
        return context.fail("usage: printf FORMAT [ARG...]", 2)
    arguments = context.args[1:]
    printer = _Printer(context, context.args[0], arguments)
    try:
        while True:
            before = printer.position
            printer.run()
            context.shell.budget.step()
            if printer.position >= len(arguments) or printer.position == before:
                break
    except _StopError as stop:
        printer.output.append(stop.text)
    context.out("".join(printer.output))
    return context.status


class _Printer:
    """One call of printf: the format is used again while arguments are left."""

    def __init__(self, context: Context, template: str, arguments: list[str]) -> None:
        self._context = context
        self._template = template
        self._arguments = arguments
        self.position = 0
        self.output: list[str] = []

    def run(self) -> None:
        at = 0
        for match in _FORMAT.finditer(self._template):
            self.output.append(unescape(self._template[at : match.start()], octal_needs_zero=False))
            at = match.end()
            self.output.append(self._directive(match))
        self.output.append(unescape(self._template[at:], octal_needs_zero=False))

    def _next(self) -> str:
        self.position += 1
        return self._arguments[self.position - 1] if self.position <= len(self._arguments) else ""

    def _integer(self, text: str) -> int:
        text = text.strip()
        if text[:1] in {"'", '"'}:
            return ord(text[1]) if len(text) > 1 else 0
        try:
            return int(text or "0", 8 if re.fullmatch(r"[-+]?0[0-7]+", text) else 0)
        except ValueError:
            self._context.fail(f"{text}: not a number")
            return 0

    def _directive(self, match: re.Match[str]) -> str:
        flags, width, precision, kind = match.groups()
        if kind == "%":
            return "%"
        width = str(self._integer(self._next())) if width == "*" else (width or "")
        precision = str(self._integer(self._next())) if precision == "*" else precision
        if width.startswith("-"):
            flags, width = flags + "-", width[1:]
        width = str(min(int(width or "0"), _MAX_WIDTH)) if width else ""
        spec = f"%{flags}{width}"
        if precision is not None or "." in match.group():
            spec += f".{min(max(int(precision or '0'), 0), _MAX_WIDTH)}"
        return self._formatted(spec, kind)

    def _formatted(self, spec: str, kind: str) -> str:
        match kind:
            case "s" | "b" | "c":
                text = self._next()
                text = unescape(text, octal_needs_zero=True) if kind == "b" else text
                return (spec + "s") % (text[:1] if kind == "c" else text)
            case "d" | "i":
                return (spec + "d") % self._integer(self._next())
            case "u" | "o" | "x" | "X":
                return (spec.replace("#", "") + kind) % (self._integer(self._next()) % 2**64)
            case "e" | "f" | "g" | "E" | "F" | "G":
                return (spec + kind) % self._real(self._next())
            case _:
                self._context.fail(f"%{kind}: invalid conversion")
                return ""

    def _real(self, text: str) -> float:
        try:
            return float(text or "0")
        except ValueError:
            self._context.fail(f"{text}: not a number")
            return 0.0
