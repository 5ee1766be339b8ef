"""Reading words: quotes, escapes, parameters and substitutions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from rlfactory.emulators.simulator.shell import syntax

MAX_NESTING: Final = 24
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[?$#@*!-]")
_BRACED_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[?$#@*!-]")
_OPERATOR: Final = re.compile(r":?[-=?+]|%%?|##?")
_PLAIN: Final = re.compile(r"[^\s\\'\"`$;&|<>()#]+")
_WORD_END: Final = frozenset(" \t\n;&|<>()")

ParseScript = Callable[[str, int, str], tuple[syntax.Script, int]]
"""(text, position, closing character) -> script and the position after the closing character."""


class WordReader:
    """Reads words from one text; `position` is where it stands."""

    def __init__(self, text: str, parse_script: ParseScript, depth: int) -> None:
        if depth > MAX_NESTING:
            raise syntax.ShellSyntaxError(f"syntax error: nested deeper than {MAX_NESTING} levels")
        self.text = text
        self.position = 0
        self._parse_script = parse_script
        self._depth = depth

    def peek(self, offset: int = 0) -> str:
        at = self.position + offset
        return self.text[at] if at < len(self.text) else ""

    def read_word(self) -> syntax.Word:
        """Read an unquoted word up to a blank or operator."""
        parts: list[syntax.Part] = []
        while self.position < len(self.text):
            plain = _PLAIN.match(self.text, self.position)
            if plain:
                parts.append(syntax.Text(plain.group(), quoted=False))
                self.position = plain.end()
                continue
            char = self.text[self.position]
            if char in _WORD_END:
                break
            self._read_part(char, parts)
        return syntax.Word(_merged(parts))

    def _read_part(self, char: str, parts: list[syntax.Part]) -> None:
        match char:
            case "\\":
                self.position += 2
                escaped = self.text[self.position - 1 : self.position]
                if escaped != "\n":
                    parts.append(syntax.Text(escaped or "\\", quoted=True))
            case "'":
                parts.append(syntax.Text(self._until("'"), quoted=True))
            case '"':
                self.position += 1
                parts.extend(self.read_quoted('"'))
            case "$" | "`":
                parts.append(self._read_expansion(quoted=False))
            case _:
                self.position += 1
                parts.append(syntax.Text(char, quoted=False))

    def read_quoted(self, end: str) -> list[syntax.Part]:
        """Read the inside of double quotes (or of a here-document, with `end` "") past the closing character."""
        parts: list[syntax.Part] = [syntax.Text("", quoted=True)]
        plain: list[str] = []

        def flush() -> None:
            if plain:
                parts.append(syntax.Text("".join(plain), quoted=True))
                plain.clear()

        while True:
            if self.position >= len(self.text):
                if end:
                    raise syntax.ShellSyntaxError(f"no closing quote {end}")
                break
            char = self.text[self.position]
            if char == end:
                self.position += 1
                break
            if char == "\\" and self.peek(1) in {"$", "`", '"' if end else "$", "\\", "\n"} and self.peek(1):
                if self.peek(1) != "\n":
                    plain.append(self.peek(1))
                self.position += 2
            elif char in {"$", "`"}:
                flush()
                parts.append(self._read_expansion(quoted=True))
            else:
                plain.append(char)
                self.position += 1
        flush()
        return parts

    def _until(self, quote: str) -> str:
        """Read from an opening quote past the closing one; nothing inside is special."""
        end = self.text.find(quote, self.position + 1)
        if end < 0:
            raise syntax.ShellSyntaxError(f"no closing quote {quote}")
        inside = self.text[self.position + 1 : end]
        self.position = end + 1
        return inside

    # --- expansions ----------------------------------------------------------------------------------------------

    def _read_expansion(self, *, quoted: bool) -> syntax.Part:
        if self.peek() == "`":
            return self._read_backquotes(quoted=quoted)
        if self.text.startswith("$((", self.position):
            arithmetic = self._read_arithmetic(quoted=quoted)
            if arithmetic is not None:
                return arithmetic
        if self.peek(1) == "(":
            script, self.position = self._parse_script(self.text, self.position + 2, ")")
            return syntax.Substitution(script, quoted)
        if self.peek(1) == "{":
            return self._read_braced(quoted=quoted)
        name = _NAME.match(self.text, self.position + 1)
        if name is None:
            self.position += 1
            return syntax.Text("$", quoted)
        self.position = name.end()
        return syntax.Parameter(name.group(), "", None, quoted)

    def _read_backquotes(self, *, quoted: bool) -> syntax.Part:
        inner: list[str] = []
        self.position += 1
        while True:
            if self.position >= len(self.text):
                raise syntax.ShellSyntaxError("no closing quote `")
            char = self.text[self.position]
            self.position += 1
            if char == "`":
                break
            special = {"$", "`", "\\", '"'} if quoted else {"$", "`", "\\"}
            if char == "\\" and self.peek() in special and self.peek():
                char = self.text[self.position]
                self.position += 1
            inner.append(char)
        script, _ = self._parse_script("".join(inner), 0, "")
        return syntax.Substitution(script, quoted)

    def _read_arithmetic(self, *, quoted: bool) -> syntax.Arithmetic | None:
        """Read `$((...))`; None when it turns out to be a substitution that begins with a subshell."""
        depth, at = 0, self.position + 3
        while at < len(self.text):
            char = self.text[at]
            if char == "(":
                depth += 1
            elif char == ")":
                if depth == 0:
                    break
                depth -= 1
            at += 1
        if not self.text.startswith("))", at):
            return None
        inner = WordReader(self.text[self.position + 3 : at], self._parse_script, self._depth + 1)
        self.position = at + 2
        return syntax.Arithmetic(syntax.Word(tuple(inner.read_quoted(""))), quoted)

    def _read_braced(self, *, quoted: bool) -> syntax.Part:
        start = self.position
        self.position += 2
        if self.peek() == "#" and self.peek(1) not in {"}", ""}:
            length = _BRACED_NAME.match(self.text, self.position + 1)
            if length and self.text.startswith("}", length.end()):
                self.position = length.end() + 1
                return syntax.Parameter(length.group(), "length", None, quoted)
        name = _BRACED_NAME.match(self.text, self.position)
        if name is None:
            raise syntax.ShellSyntaxError(f"{self.text[start : start + 20]}: bad substitution")
        self.position = name.end()
        if self.peek() == "}":
            self.position += 1
            return syntax.Parameter(name.group(), "", None, quoted)
        operator = _OPERATOR.match(self.text, self.position)
        if operator is None:
            raise syntax.ShellSyntaxError(f"{self.text[start : start + 20]}: bad substitution")
        self.position = operator.end()
        pattern_operator = operator.group()[0] in "%#"
        argument = self._read_argument(quoted=quoted and not pattern_operator)
        return syntax.Parameter(name.group(), operator.group(), argument, quoted)

    def _read_argument(self, *, quoted: bool) -> syntax.Word:
        """Read the word of `${name:-word}` past the closing brace."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise syntax.ShellSyntaxError(f"syntax error: nested deeper than {MAX_NESTING} levels")
        parts: list[syntax.Part] = []
        while self.peek() != "}":
            char = self.peek()
            if not char:
                raise syntax.ShellSyntaxError("no closing quote {")
            if char == "\\":
                following = self.peek(1)
                keep = quoted and following not in {"$", "`", '"', "\\", "}"}
                parts.append(syntax.Text("\\" + following if keep else following, quoted=True))
                self.position += 2
            elif char == '"':
                self.position += 1
                parts.extend(self.read_quoted('"'))
            elif char == "'" and not quoted:
                parts.append(syntax.Text(self._until("'"), quoted=True))
            elif char in {"$", "`"}:
                parts.append(self._read_expansion(quoted=quoted))
            else:
                self.position += 1
                parts.append(syntax.Text(char, quoted))
        self.position += 1
        self._depth -= 1
        return syntax.Word(_merged(parts))


def _merged(parts: list[syntax.Part]) -> tuple[syntax.Part, ...]:
    """Join neighbouring texts of one kind."""
    merged: list[syntax.Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, syntax.Text) and isinstance(last, syntax.Text) and part.quoted == last.quoted:
            merged[-1] = syntax.Text(last.text + part.text, part.quoted)
        else:
            merged.append(part)
    return tuple(merged)
