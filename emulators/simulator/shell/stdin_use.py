"""Does a command line read its standard input? adb may hold the input open for ever, so only readers wait for it."""

from __future__ import annotations

from typing import Final

from rlfactory.emulators.simulator.shell import syntax
from rlfactory.emulators.simulator.shell.commands.registry import COMMANDS
from rlfactory.emulators.simulator.shell.parser import parse

_BUILTIN_WRAPPERS: Final = frozenset({"exec", "command"})


def reads_stdin(command: str) -> bool:
    """Tell whether a command of the line takes the line's own input; False for what is no command line."""
    try:
        return _script_reads(parse(command))
    except syntax.ShellSyntaxError:
        return False


def _script_reads(script: syntax.Script) -> bool:
    return any(
        _pipeline_reads(pipeline) for joined in script for pipeline in (joined.first, *(p for _, p in joined.rest))
    )


def _pipeline_reads(pipeline: syntax.Pipeline) -> bool:
    return bool(pipeline.commands) and _command_reads(pipeline.commands[0])


def _command_reads(command: syntax.Command) -> bool:
    if any(redirect.operator.startswith("<") for redirect in command.redirects):
        return False
    return _simple_reads(command) if isinstance(command, syntax.Simple) else _compound_reads(command)


def _compound_reads(command: syntax.Compound) -> bool:
    match command.body:
        case syntax.Subshell(body) | syntax.Group(body) | syntax.For(body=body):
            scripts = [body]
        case syntax.While(condition, body):
            scripts = [condition, body]
        case syntax.If(branches, otherwise):
            scripts = [script for branch in branches for script in branch] + [otherwise]
        case syntax.Case(branches=cases):
            scripts = [script for _, script in cases]
    return any(_script_reads(script) for script in scripts)


def _simple_reads(command: syntax.Simple) -> bool:
    words = [_plain(word) for word in command.words]
    while words and (words[0] in _BUILTIN_WRAPPERS or (words[0] in COMMANDS and COMMANDS[words[0]].wraps)):
        del words[0]
    if not words:
        return False
    name, *arguments = words
    return name == "read" or (name in COMMANDS and COMMANDS[name].reads_stdin(arguments))


def _plain(word: syntax.Word) -> str:
    """Return the word's text; what only the running shell knows becomes some operand."""
    return "".join(getattr(part, "text", "?") for part in word.parts)
