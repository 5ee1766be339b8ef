"""Command lines -> syntax trees: a recursive-descent parser of the POSIX shell grammar (no functions)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from rlfactory.emulators.simulator.shell import syntax
from rlfactory.emulators.simulator.shell.words import WordReader

_OPERATORS: Final = ("&&", "||", ";;", ";", "&", "|", "(", ")", "\n")
_REDIRECTS: Final = ("<<-", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">")
_FD: Final = re.compile(r"\d+(?=[<>])")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CLOSERS: Final = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
_CACHED_CHARS: Final = 4096

_EMPTY: Final = syntax.Word(())


def parse(text: str) -> syntax.Script:
    """Parse a command line. Raises: ShellSyntaxError."""
    return _parse_cached(text) if len(text) <= _CACHED_CHARS else _parse(text)


def _parse(text: str) -> syntax.Script:
    return parse_script(text, 0, "", 0)[0]


_parse_cached = lru_cache(maxsize=256)(_parse)


def parse_script(text: str, position: int, closer: str, depth: int) -> tuple[syntax.Script, int]:
    """Parse from `position` to the end, or past the closing parenthesis of a substitution."""
    parser = _Parser(text, position, depth)
    script = parser.parse_list(until=frozenset({closer} if closer else ()))
    if closer:
        parser.expect(closer)
    elif parser.peek_operator() or parser.reader.position < len(text):
        raise parser.unexpected()
    return script, parser.reader.position


class _Parser:
    def __init__(self, text: str, position: int, depth: int) -> None:
        self._depth = depth
        self.reader = WordReader(text, self._nested, depth)
        self.reader.position = position
        self._pending_documents: list[tuple[syntax.Redirect, str, bool, bool]] = []

    def _nested(self, text: str, position: int, closer: str) -> tuple[syntax.Script, int]:
        return parse_script(text, position, closer, self._depth + 1)

    # --- tokens --------------------------------------------------------------------------------------------------

    def _skip_blanks(self) -> None:
        reader = self.reader
        while True:
            char = reader.peek()
            if char in {" ", "\t", "\r"} and char:
                reader.position += 1
            elif char == "\\" and reader.peek(1) == "\n":
                reader.position += 2
            elif char == "#":
                end = reader.text.find("\n", reader.position)
                reader.position = len(reader.text) if end < 0 else end
            else:
                return

    def peek_operator(self) -> str:
        """Return the operator that comes next, "" for a word or the end."""
        self._skip_blanks()
        for operator in _OPERATORS:
            if self.reader.text.startswith(operator, self.reader.position):
                return operator
        return ""

    def _peek_reserved(self) -> str:
        """Return the plain word that comes next without consuming it, "" if it is none."""
        self._skip_blanks()
        reader = self.reader
        end = reader.position
        while end < len(reader.text) and reader.text[end] not in " \t\r\n;&|<>()":
            end += 1
        word = reader.text[reader.position : end]
        return word if word in _CLOSERS or _NAME.fullmatch(word) or word in {"{", "!"} else ""

    def _take_operator(self, operator: str) -> None:
        self.reader.position += len(operator)
        if operator == "\n":
            self._read_documents()

    def _take_word(self, word: str) -> None:
        self.reader.position += len(word)

    def expect(self, token: str) -> None:
        found = self.peek_operator() or self._peek_reserved()
        if found != token:
            raise self.unexpected(token)
        self._take_operator(token)

    def unexpected(self, wanted: str = "") -> syntax.ShellSyntaxError:
        self._skip_blanks()
        rest = self.reader.text[self.reader.position :].split("\n")[0][:20]
        if not self.reader.text[self.reader.position :].strip():
            detail = f": unmatched or missing '{wanted}'" if wanted else ""
            return syntax.ShellSyntaxError(f"syntax error: unexpected end of file{detail}")
        token = self.peek_operator() or rest.split(" ")[0]
        return syntax.ShellSyntaxError(f"syntax error: unexpected '{'newline' if token == chr(10) else token}'")

    def _skip_newlines(self) -> None:
        while self.peek_operator() == "\n":
            self._take_operator("\n")

    # --- lists ---------------------------------------------------------------------------------------------------

    def parse_list(self, *, until: frozenset[str]) -> syntax.Script:
        """Parse commands up to a closing operator or reserved word, which is left standing."""
        items: list[syntax.AndOr] = []
        while True:
            self._skip_newlines()
            operator = self.peek_operator()
            if operator in until or self.reader.position >= len(self.reader.text):
                return tuple(items)
            if not operator and self._peek_reserved() in _CLOSERS:
                return tuple(items)
            items.append(self._parse_and_or())
            operator = self.peek_operator()
            if operator in {";", "&"}:
                self._take_operator(operator)
                if operator == "&":
                    last = items[-1]
                    items[-1] = syntax.AndOr(last.first, last.rest, background=True)
            elif operator != "\n":
                return tuple(items)

    def _block(self, until: str = "") -> syntax.Script:
        """Parse a list that must not be empty."""
        self._depth += 1
        if self._depth > 24:
            raise syntax.ShellSyntaxError("syntax error: nested deeper than 24 levels")
        script = self.parse_list(until=frozenset({until} if until else ()))
        self._depth -= 1
        if not script:
            raise self.unexpected()
        return script

    def _parse_and_or(self) -> syntax.AndOr:
        first = self._parse_pipeline()
        rest: list[tuple[str, syntax.Pipeline]] = []
        while (operator := self.peek_operator()) in {"&&", "||"}:
            self._take_operator(operator)
            self._skip_newlines()
            rest.append((operator, self._parse_pipeline()))
        return syntax.AndOr(first, tuple(rest), background=False)

    def _parse_pipeline(self) -> syntax.Pipeline:
        negated = False
        while self._peek_reserved() == "!":
            self._take_word("!")
            negated = not negated
        commands = [self._parse_command()]
        while self.peek_operator() == "|":
            self._take_operator("|")
            self._skip_newlines()
            commands.append(self._parse_command())
        return syntax.Pipeline(tuple(commands), negated)

    # --- commands ------------------------------------------------------------------------------------------------

    def _parse_command(self) -> syntax.Command:
        operator = self.peek_operator()
        if operator == "(":
            self._take_operator("(")
            body: syntax.Body = syntax.Subshell(self._block(")"))
            self.expect(")")
            return syntax.Compound(body, self._redirects())
        if operator:
            raise self.unexpected()
        match self._peek_reserved():
            case "{":
                self._take_word("{")
                body = syntax.Group(self._block())
                self.expect("}")
            case "if":
                body = self._parse_if()
            case "for":
                body = self._parse_for()
            case "while" | "until" as word:
                body = self._parse_while(word)
            case "case":
                body = self._parse_case()
            case word if word in _CLOSERS and word:
                raise self.unexpected()
            case _:
                return self._parse_simple()
        return syntax.Compound(body, self._redirects())

    def _parse_if(self) -> syntax.If:
        branches: list[tuple[syntax.Script, syntax.Script]] = []
        self._take_word("if")
        while True:
            condition = self._block()
            self.expect("then")
            branches.append((condition, self._block()))
            if self._peek_reserved() != "elif":
                break
            self._take_word("elif")
        otherwise: syntax.Script = ()
        if self._peek_reserved() == "else":
            self._take_word("else")
            otherwise = self._block()
        self.expect("fi")
        return syntax.If(tuple(branches), otherwise)

    def _parse_for(self) -> syntax.For:
        self._take_word("for")
        name = self._peek_reserved()
        if not _NAME.fullmatch(name):
            raise self.unexpected()
        self._take_word(name)
        words: list[syntax.Word] | None = None
        if self.peek_operator() == "\n":
            self._skip_newlines()
        if self._peek_reserved() == "in":
            self._take_word("in")
            words = []
            while not self.peek_operator() and self.reader.position < len(self.reader.text):
                words.append(self._word())
        if self.peek_operator() == ";":
            self._take_operator(";")
        self._skip_newlines()
        body = self._do_block()
        return syntax.For(name, None if words is None else tuple(words), body)

    def _parse_while(self, word: str) -> syntax.While:
        self._take_word(word)
        condition = self._block()
        return syntax.While(condition, self._do_block(), until=word == "until")

    def _do_block(self) -> syntax.Script:
        self.expect("do")
        body = self._block()
        self.expect("done")
        return body

    def _parse_case(self) -> syntax.Case:
        self._take_word("case")
        self._skip_blanks()
        subject = self._word()
        self._skip_newlines()
        self.expect("in")
        branches: list[tuple[tuple[syntax.Word, ...], syntax.Script]] = []
        while True:
            self._skip_newlines()
            if self._peek_reserved() == "esac":
                break
            if self.peek_operator() == "(":
                self._take_operator("(")
            patterns = [self._word()]
            while self.peek_operator() == "|":
                self._take_operator("|")
                patterns.append(self._word())
            self.expect(")")
            branches.append((tuple(patterns), self.parse_list(until=frozenset({";;"}))))
            if self.peek_operator() != ";;":
                break
            self._take_operator(";;")
        self._skip_newlines()
        self.expect("esac")
        return syntax.Case(subject, tuple(branches))

    def _word(self) -> syntax.Word:
        self._skip_blanks()
        start = self.reader.position
        word = self.reader.read_word()
        if self.reader.position == start:
            raise self.unexpected()
        return word

    def _parse_simple(self) -> syntax.Simple:
        assignments: list[tuple[str, syntax.Word]] = []
        words: list[syntax.Word] = []
        redirects: list[syntax.Redirect] = []
        start = self.reader.position
        while not self.peek_operator() and self.reader.position < len(self.reader.text):
            redirect = self._redirect()
            if redirect is not None:
                redirects.append(redirect)
                continue
            assignment = None if words else _ASSIGNMENT.match(self.reader.text, self.reader.position)
            if assignment:
                self.reader.position = assignment.end()
                assignments.append((assignment.group(1), self.reader.read_word()))
            else:
                words.append(self._word())
        if self.reader.position == start or (words and self.peek_operator() == "("):
            raise self.unexpected()
        return syntax.Simple(tuple(assignments), tuple(words), tuple(redirects))

    # --- redirections --------------------------------------------------------------------------------------------

    def _redirects(self) -> tuple[syntax.Redirect, ...]:
        found: list[syntax.Redirect] = []
        while not self.peek_operator():
            redirect = self._redirect()
            if redirect is None:
                break
            found.append(redirect)
        return tuple(found)

    def _redirect(self) -> syntax.Redirect | None:
        self._skip_blanks()
        reader = self.reader
        fd = _FD.match(reader.text, reader.position)
        at = fd.end() if fd else reader.position
        operator = next((name for name in _REDIRECTS if reader.text.startswith(name, at)), None)
        if operator is None:
            return None
        reader.position = at + len(operator)
        number = int(fd.group()) if fd and len(fd.group()) < 4 else (0 if operator[0] == "<" else 1)
        target = self._word()
        redirect = syntax.Redirect(number, operator, target)
        if operator in {"<<", "<<-"}:
            delimiter = "".join(part.text for part in target.parts if isinstance(part, syntax.Text))
            quoted = any(isinstance(part, syntax.Text) and part.quoted for part in target.parts)
            redirect.target = _EMPTY
            self._pending_documents.append((redirect, delimiter, quoted, operator == "<<-"))
        return redirect

    def _read_documents(self) -> None:
        """Read the bodies of the here-documents announced on the line that just ended."""
        reader = self.reader
        for redirect, delimiter, quoted, strip_tabs in self._pending_documents:
            lines: list[str] = []
            while reader.position < len(reader.text):
                end = reader.text.find("\n", reader.position)
                end = len(reader.text) if end < 0 else end
                line = reader.text[reader.position : end]
                reader.position = min(end + 1, len(reader.text))
                line = line.lstrip("\t") if strip_tabs else line
                if line == delimiter:
                    break
                lines.append(line + "\n")
            body = "".join(lines)
            if quoted:
                redirect.target = syntax.Word((syntax.Text(body, quoted=True),))
            else:
                inner = WordReader(body, self._nested, self._depth + 1)
                redirect.target = syntax.Word(tuple(inner.read_quoted("")))
        self._pending_documents.clear()
