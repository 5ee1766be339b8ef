"""find."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from rlfactory.emulators.simulator.machine.filesystem import FileEntry
from rlfactory.emulators.simulator.shell.commands.context import CommandTable, Context, UsageError
from rlfactory.emulators.simulator.shell.commands.files.naming import user_id
from rlfactory.emulators.simulator.shell.patterns import Pattern

table = CommandTable()
_MAX_DEPTH: Final = 32
_SIZES: Final = {"": 512, "b": 512, "c": 1, "w": 2, "k": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(frozen=True, slots=True)
class _Item:
    name: str
    """As printed: the starting point as given, and the way down."""
    path: str
    entry: FileEntry
    depth: int


_Test = Callable[[_Item], bool]


@dataclass(slots=True)
class _Plan:
    """What an expression asks for besides its tests."""

    min_depth: int = 0
    max_depth: int = 10_000
    depth_first: bool = False
    acts: bool = False
    pruned: set[str] = field(default_factory=set)
    gathered: list[tuple[list[str], list[str]]] = field(default_factory=list)
    """Commands of `-exec ... {} +` and the names collected for them."""


class _Parser:
    """Turns the words of an expression into one test."""

    def __init__(self, context: Context, words: list[str], plan: _Plan) -> None:
        self._context = context
        self._words = words
        self._position = 0
        self._plan = plan
        self._depth = 0

    def parse(self) -> _Test:
        if not self._words:
            return lambda _: True
        test = self._or()
        if self._position < len(self._words):
            raise UsageError(f"bad arg '{self._words[self._position]}'")
        return test

    def _peek(self) -> str | None:
        return self._words[self._position] if self._position < len(self._words) else None

    def _argument(self, name: str) -> str:
        word = self._peek()
        if word is None:
            raise UsageError(f"'{name}' needs 1 arg")
        self._position += 1
        return word

    def _or(self) -> _Test:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise UsageError("nested too deep")
        tests = [self._and()]
        while self._peek() in {"-o", "-or"}:
            self._position += 1
            tests.append(self._and())
        self._depth -= 1
        return tests[0] if len(tests) == 1 else lambda item: any(test(item) for test in tests)

    def _and(self) -> _Test:
        tests = [self._not()]
        while self._peek() not in {None, "-o", "-or", ")"}:
            if self._peek() in {"-a", "-and"}:
                self._position += 1
            tests.append(self._not())
        return tests[0] if len(tests) == 1 else lambda item: all(test(item) for test in tests)

    def _not(self) -> _Test:
        negated = False
        while self._peek() in {"!", "-not"}:
            self._position += 1
            negated = not negated
        test = self._primary()
        return (lambda item: not test(item)) if negated else test

    def _primary(self) -> _Test:
        word = self._peek()
        if word is None:
            raise UsageError("missing expression")
        self._position += 1
        if word == "(":
            test = self._or()
            if self._peek() != ")":
                raise UsageError("missing )")
            self._position += 1
            return test
        if word in {"-exec", "-ok"}:
            return self._exec()
        if word in _FLAGS:
            return self._flag(word)
        if word in _WITH_ARGUMENT:
            return self._with_argument(word, self._argument(word))
        raise UsageError(f"bad arg '{word}'")

    def _flag(self, word: str) -> _Test:
        context, plan = self._context, self._plan
        plan.acts = plan.acts or word in {"-print", "-print0", "-delete"}
        plan.depth_first = plan.depth_first or word in {"-depth", "-delete"}
        tests: dict[str, _Test] = {
            "-delete": lambda item: _delete(context, item),
            "-empty": lambda item: not (context.files.list(item.path) if item.entry.is_dir else item.entry.data),
            "-false": lambda _: False,
            "-print": lambda item: _print(context, item.name + "\n"),
            "-print0": lambda item: _print(context, item.name + "\0"),
            "-prune": lambda item: _keep(plan.pruned.add, item.path),
        }
        return tests.get(word, _always)

    def _with_argument(self, word: str, value: str) -> _Test:
        if word == "-maxdepth":
            self._plan.max_depth = _number(word, value)
        elif word == "-mindepth":
            self._plan.min_depth = _number(word, value)
        make = _TESTS_WITH_ARGUMENT.get(word)
        return make(self._context, word, value) if make else _always

    def _exec(self) -> _Test:
        command: list[str] = []
        while (word := self._argument("-exec")) not in {";", "+"}:
            command.append(word)
        if not command:
            raise UsageError("'-exec' needs 1 arg")
        self._plan.acts = True
        context = self._context
        if word == "+":
            names: list[str] = []
            self._plan.gathered.append((command[:-1] if command[-1] == "{}" else command, names))
            return lambda item: _keep(names.append, item.name)
        return lambda item: context.run([part.replace("{}", item.name) for part in command]) == 0


_FLAGS: Final = frozenset(
    {"-print", "-print0", "-delete", "-prune", "-depth", "-empty", "-false", "-true", "-xdev", "-mount", "-noleaf"}
)


def _always(_: _Item) -> bool:
    return True


def _print(context: Context, text: str) -> bool:
    context.out(text)
    return True


def _keep(store: Callable[[str], None], name: str) -> bool:
    store(name)
    return True


def _number(word: str, value: str) -> int:
    if not value.isdigit() or len(value) > 6:
        raise UsageError(f"bad {word} '{value}'")
    return int(value)


def _name_test(context: Context, word: str, value: str) -> _Test:
    folded = word.startswith("-i")
    pattern = Pattern([(value.lower() if folded else value, False)])

    def test(item: _Item) -> bool:
        whole = item.name if "name" not in word or word == "-wholename" else posixpath.basename(item.name.rstrip("/"))
        return pattern.matches(whole.lower() if folded else whole)

    return test


def _compared(wanted: str, value: int) -> bool:
    """Tell whether a value is `N`, more than `+N` says or less than `-N` says."""
    number = int(wanted.lstrip("+-"))
    return value > number if wanted[0] == "+" else (value < number if wanted[0] == "-" else value == number)


def _type_test(context: Context, word: str, value: str) -> _Test:
    kinds = set(value.split(","))
    return lambda item: ("d" if item.entry.is_dir else "f") in kinds


def _mode_test(context: Context, word: str, value: str) -> _Test:
    if not re.fullmatch(r"[-/]?[0-7]{1,4}", value):
        raise UsageError(f"bad -perm '{value}'")
    mode = int(value.lstrip("-/"), 8)
    match value[0]:
        case "-":
            return lambda item: item.entry.mode & mode == mode
        case "/":
            return lambda item: bool(item.entry.mode & mode)
        case _:
            return lambda item: item.entry.mode == mode


def _owner_test(context: Context, word: str, value: str) -> _Test:
    owner = user_id(value)
    return lambda item: (item.entry.uid if word == "-user" else item.entry.gid) == owner


def _newer_test(context: Context, word: str, value: str) -> _Test:
    since = context.files.stat(context.path(value)).modified_ns
    return lambda item: item.entry.modified_ns > since


def _size_test(context: Context, word: str, value: str) -> _Test:
    match = re.fullmatch(r"([-+]?\d{1,12})([bcwkMG]?)", value)
    if match is None:
        raise UsageError(f"bad -size '{value}'")
    wanted, unit = match[1], _SIZES[match[2]]
    return lambda item: _compared(wanted, -(-item.entry.size // unit))


def _age_test(context: Context, word: str, value: str) -> _Test:
    unit_s, now_ns = (60 if word.endswith("min") else 86_400), context.state.clock.wall_ns()
    if not re.fullmatch(r"[-+]?\d{1,9}", value):
        raise UsageError(f"bad time '{value}'")
    return lambda item: _compared(value, (now_ns - item.entry.modified_ns) // (unit_s * 10**9))


_TESTS_WITH_ARGUMENT: Final[Mapping[str, Callable[[Context, str, str], _Test]]] = {
    **dict.fromkeys(("-name", "-iname", "-path", "-wholename", "-ipath"), _name_test),
    **dict.fromkeys(("-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin"), _age_test),
    **dict.fromkeys(("-user", "-group"), _owner_test),
    "-newer": _newer_test,
    "-perm": _mode_test,
    "-size": _size_test,
    "-type": _type_test,
}
_WITH_ARGUMENT: Final = frozenset({"-maxdepth", "-mindepth", *_TESTS_WITH_ARGUMENT})


def _delete(context: Context, item: _Item) -> bool:
    try:
        context.files.remove(item.path)
    except OSError as error:
        context.fail(f"{item.name}: {error.strerror}")
        return False
    return True


def _items(context: Context, start: str, plan: _Plan) -> list[_Item]:
    """Return everything from a starting point down to the depth limit, parents first."""
    path = context.path(start).rstrip("/") or "/"
    items: list[_Item] = []
    for at, entry in context.files.walk_entries(path):
        below = at[len(path) :] if path != "/" else at[1:]
        depth = below.count("/") if path != "/" else (below.count("/") + bool(below))
        if depth <= plan.max_depth:
            name = start.rstrip("/") + ("/" + below.lstrip("/")) if below else start
            items.append(_Item(name, at, entry, depth))
    return items


@table.command("find")
def _find(context: Context) -> int:
    starts = []
    words = list(context.args)
    while words and words[0] in {"-H", "-L", "-P"}:
        words.pop(0)
    while words and not words[0].startswith("-") and words[0] not in {"!", "("}:
        starts.append(words.pop(0))
    plan = _Plan()
    test = _Parser(context, words, plan).parse()
    status = 0
    for start in starts or ["."]:
        try:
            items = _items(context, start, plan)
        except OSError as error:
            context.report(error)
            status = 1
            continue
        _visit(context, items, test, plan)
    ended = [context.run(command + names) for command, names in plan.gathered if names]
    return 1 if any(ended) else status


def _visit(context: Context, items: list[_Item], test: _Test, plan: _Plan) -> None:
    for item in reversed(items) if plan.depth_first else items:
        if item.depth < plan.min_depth or any(item.path.startswith(folder + "/") for folder in plan.pruned):
            continue
        # -exec and -delete may have removed it meanwhile.
        if test(item) and not plan.acts:
            context.line(item.name)
