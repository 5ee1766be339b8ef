"""Opening what redirections name."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from rlfactory.emulators.simulator.shell.expansion import expand_text
from rlfactory.emulators.simulator.shell.streams import FileSink, NullSink, Sink, Source, Streams
from rlfactory.emulators.simulator.shell.syntax import Redirect

if TYPE_CHECKING:
    from rlfactory.emulators.simulator.shell.interpreter import Shell


class RedirectionError(Exception):
    """A file of a redirection cannot be opened; the message is what the shell prints."""


def redirected(shell: Shell, redirects: tuple[Redirect, ...]) -> Streams:
    """Return the shell's streams with the redirections applied, in order. Raises: RedirectionError."""
    if not redirects:
        return shell.streams
    streams = shell.streams.copy()
    for redirect in redirects:
        target = expand_text(shell, redirect.target)
        try:
            _redirect(shell, streams, redirect, target)
        except OSError as error:
            verb = "create" if redirect.operator in {">", ">>", ">|"} else "open"
            raise RedirectionError(f"can't {verb} {target}: {error.strerror}") from error
    return streams


def _redirect(shell: Shell, streams: Streams, redirect: Redirect, target: str) -> None:
    """Apply one redirection. Raises: OSError."""
    match redirect.operator:
        case "<" | "<>":
            _set_source(streams, redirect.fd, _open_source(shell, streams, target), target)
        case "<<" | "<<-":
            _set_source(streams, redirect.fd, Source(target.encode("utf-8", "surrogateescape")), target)
        case ">&" | "<&":
            _duplicate(streams, redirect.fd, target)
        case operator:
            sink = _open_sink(shell, streams, target, append=operator == ">>")
            _set_sink(streams, redirect.fd, sink, target)


def _open_source(shell: Shell, streams: Streams, target: str) -> Source:
    if target in {"/dev/stdin", "/dev/fd/0"}:
        return streams.stdin
    if target in {"/dev/null", "/dev/tty"}:
        return Source()
    return Source(shell.files.read(_absolute(shell, target)))


def _open_sink(shell: Shell, streams: Streams, target: str, *, append: bool) -> Sink:
    match target:
        case "/dev/null" | "/dev/tty":
            return NullSink()
        case "/dev/stdout" | "/dev/fd/1":
            return streams.stdout
        case "/dev/stderr" | "/dev/fd/2":
            return streams.stderr
        case _:
            return FileSink(shell.files, _absolute(shell, target), shell.budget, append=append)


def _absolute(shell: Shell, target: str) -> str:
    if not target:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), target)
    return target if target.startswith("/") else f"{shell.cwd.rstrip('/')}/{target}"


def _set_source(streams: Streams, fd: int, source: Source, target: str) -> None:
    if fd != 0:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), target)
    streams.stdin = source


def _set_sink(streams: Streams, fd: int, sink: Sink, target: str) -> None:
    match fd:
        case 1:
            streams.stdout = sink
        case 2:
            streams.stderr = sink
        case _:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), target)


def _duplicate(streams: Streams, fd: int, target: str) -> None:
    """`2>&1`, `>&2`, `2>&-`, `<&-`."""
    match target:
        case "1":
            _set_sink(streams, fd, streams.stdout, target)
        case "2":
            _set_sink(streams, fd, streams.stderr, target)
        case "-" if fd == 0:
            streams.stdin = Source()
        case "-":
            _set_sink(streams, fd, NullSink(), target)
        case "0" if fd == 0:
            pass
        case _:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), target)
