"""sed: substitutions, printing, deleting and a few more, with line and pattern addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError, split_options
from rlfactory.emulators.simulator.shell.commands.text.regular import BadPatternError, compiled
from rlfactory.emulators.simulator.shell.commands.text.text import lines_of

table = CommandTable()
_LAST: Final = -1
Address = int | re.Pattern[str] | None


@dataclass(slots=True)
class _Instruction:
    start: Address = None
    end: Address = None
    negated: bool = False
    name: str = ""
    pattern: re.Pattern[str] | None = None
    text: str = ""
    flags: str = ""
    active: bool = False
    """Inside a range that began on an earlier line."""


class _Reader:
    """Reads one sed script."""

    def __init__(self, script: str, *, extended: bool) -> None:
        self._script = script
        self._position = 0
        self._extended = extended

    def read(self) -> list[_Instruction]:
        instructions: list[_Instruction] = []
        while True:
            while self._peek() in {" ", "\t", "\n", ";"} and self._peek():
                self._position += 1
            if not self._peek():
                return instructions
            instructions.append(self._instruction())

    def _peek(self) -> str:
        return self._script[self._position : self._position + 1]

    def _instruction(self) -> _Instruction:
        found = _Instruction(start=self._address())
        if self._peek() == ",":
            self._position += 1
            found.end = self._address()
        while self._peek() in {" ", "!"} and self._peek():
            found.negated = found.negated or self._peek() == "!"
            self._position += 1
        found.name = self._peek()
        self._position += 1
        match found.name:
            case "s" | "y":
                self._substitution(found)
            case "a" | "i" | "c":
                end = self._script.find("\n", self._position)
                end = len(self._script) if end < 0 else end
                found.text = self._script[self._position : end].lstrip(" ").removeprefix("\\").lstrip("\n ")
                self._position = end
            case "p" | "d" | "q" | "=":
                pass
            case name:
                raise UsageError(f"bad pattern '{self._script}'@{self._position} ({name})")
        return found

    def _address(self) -> Address:
        char = self._peek()
        if char.isdigit():
            match = re.compile(r"\d+").match(self._script, self._position)
            assert match
            self._position = match.end()
            return int(match.group())
        if char == "$":
            self._position += 1
            return _LAST
        if char in {"/", "\\"} and char:
            self._position += char == "\\"
            return compiled(self._delimited(self._peek()), extended=self._extended)
        return None

    def _delimited(self, delimiter: str) -> str:
        """Read from a delimiter to the next one, which is consumed when it stands alone."""
        self._position += 1
        out: list[str] = []
        while True:
            char = self._peek()
            if not char:
                raise UsageError(f"no {delimiter}")
            self._position += 1
            if char == delimiter:
                return "".join(out)
            if char == "\\" and self._peek():
                escaped = self._peek()
                self._position += 1
                out.append(escaped if escaped == delimiter else "\\" + escaped)
            else:
                out.append(char)

    def _substitution(self, found: _Instruction) -> None:
        delimiter = self._peek()
        if not delimiter or delimiter in "\\\n":
            raise UsageError("bad delimiter")
        pattern = self._delimited(delimiter)
        self._position -= 1
        found.text = self._delimited(delimiter)
        if found.name == "y":
            if len(pattern) != len(found.text):
                raise UsageError("strings for 'y' are different lengths")
            found.flags = pattern
            return
        match = re.compile(r"[gpiI0-9]*").match(self._script, self._position)
        assert match
        self._position = match.end()
        found.flags = match.group()
        ignore_case = bool({"i", "I"} & set(found.flags))
        found.pattern = compiled(pattern, extended=self._extended, ignore_case=ignore_case)


def _selected(instruction: _Instruction, line: str, number: int, *, last: bool) -> bool:
    def hits(address: Address) -> bool:
        if isinstance(address, int):
            return last if address == _LAST else number == address
        return address is None or bool(address.search(line))

    if instruction.end is None:
        return hits(instruction.start) != instruction.negated
    if not instruction.active:
        inside = hits(instruction.start)
        ends_before = isinstance(instruction.end, int) and 0 <= instruction.end <= number
        instruction.active = inside and not ends_before
    else:
        inside = True
        past = isinstance(instruction.end, int) and 0 <= instruction.end <= number
        instruction.active = not (past or hits(instruction.end))
    return inside != instruction.negated


def _substituted(instruction: _Instruction, line: str) -> tuple[str, bool]:
    assert instruction.pattern is not None
    wanted = int("".join(filter(str.isdigit, instruction.flags)) or "0")
    every = "g" in instruction.flags
    seen = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal seen
        seen += 1
        chosen = seen >= max(wanted, 1) if every else seen == max(wanted, 1)
        return _replacement(instruction.text, match) if chosen else match.group()

    changed = instruction.pattern.sub(replace, line)
    return changed, seen >= max(wanted, 1)


def _replacement(template: str, match: re.Match[str]) -> str:
    out: list[str] = []
    position = 0
    while position < len(template):
        char = template[position]
        position += 1
        if char == "&":
            out.append(match.group())
        elif char == "\\" and position < len(template):
            escaped = template[position]
            position += 1
            if escaped.isdigit():
                index = int(escaped)
                out.append((match.group(index) or "") if index <= match.re.groups else "")
            else:
                out.append({"n": "\n", "t": "\t"}.get(escaped, escaped))
        else:
            out.append(char)
    return "".join(out)


class _Editor:
    """Runs a script over lines."""

    def __init__(self, instructions: list[_Instruction], *, quiet: bool) -> None:
        self._instructions = instructions
        self._quiet = quiet
        self._out: list[str] = []

    def run(self, lines: list[str]) -> list[str]:
        for number, original in enumerate(lines, 1):
            line, name, appended = original, "", list[str]()
            for instruction in self._instructions:
                if _selected(instruction, line, number, last=number == len(lines)):
                    line = self._apply(instruction, line, number, appended)
                    name = instruction.name
                    if name in {"c", "d", "q"}:
                        break
            if not self._quiet and name not in {"c", "d"}:
                self._out.append(line)
            self._out += appended
            if name == "q":
                break
        return self._out

    def _apply(self, instruction: _Instruction, line: str, number: int, appended: list[str]) -> str:
        """Carry out one instruction and return what the line is now."""
        match instruction.name:
            case "s":
                line, done = _substituted(instruction, line)
                if done and "p" in instruction.flags:
                    self._out.append(line)
            case "y":
                line = line.translate(str.maketrans(instruction.flags, instruction.text))
            case "p" | "=":
                self._out.append(line if instruction.name == "p" else str(number))
            case "i" | "c":
                self._out.append(instruction.text)
            case "a":
                appended.append(instruction.text)
        return line


@table.command("sed", reads=1)
def _sed(context: Context) -> int:
    scripts: list[str] = []
    plain: list[str] = []
    pending = list(context.args)
    while pending:
        arg = pending.pop(0)
        if arg == "-e" and pending:
            scripts.append(pending.pop(0))
        elif arg == "-i" or (arg.startswith("-i") and not arg.startswith("--")):
            plain.append("-i")
        else:
            plain.append(arg)
    options, operands = split_options(plain, "nErsiz")
    if not scripts:
        if not operands:
            raise UsageError("needs a script")
        scripts = [operands.pop(0)]
    extended = bool({"E", "r"} & options.keys())
    try:
        instructions = _Reader("\n".join(scripts), extended=extended).read()
    except BadPatternError as error:
        return context.fail(str(error))
    if "i" not in options:
        content = b"".join(context.read(operand) for operand in operands or ["-"])
        text = _edited(instructions, content, quiet="n" in options)
        context.out(text[:-1] if content and not content.endswith(b"\n") else text)
        return 0
    for operand in operands:
        text = _edited(instructions, context.read(operand), quiet="n" in options)
        context.files.write(context.path(operand), text.encode("utf-8", "surrogateescape"))
    return 0


def _edited(instructions: list[_Instruction], content: bytes, *, quiet: bool) -> str:
    return "".join(line + "\n" for line in _Editor(instructions, quiet=quiet).run(lines_of(content)))
