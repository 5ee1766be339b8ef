"""The options of `serve` in a file: checked once, overridden by the command line, mistakes told in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from rlfactory.emulators.sources.kinds import SourceKind
from rlfactory.envs import cli
from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.service.serve_options import MAX_FILE_BYTES, ServeOptions
from rlfactory.options import takes_options

ROOT = Path(__file__).parents[3]


def read(*arguments: str, **environment: str) -> ServeOptions:
    """Return what a service is asked for by a command line."""
    app = typer.Typer()
    asked: list[ServeOptions] = []

    @app.command()
    @takes_options
    def serve(options: ServeOptions) -> None:
        asked.append(options)

    done = CliRunner().invoke(app, arguments, env={"DOCKER_HOST": "", **environment})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return asked[0]


@pytest.fixture
def written(tmp_path):
    def write(text: str, name: str = "service.yaml") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_the_example_of_the_documents_names_every_option():
    text = (ROOT / "docs/examples/service.yaml").read_text()
    options = read("--config", str(ROOT / "docs/examples/service.yaml"))
    assert (options.transport, options.phones, options.drain_s) == (SourceKind.DIRECT, 8, 10.0)
    assert options.allow == ["math_code=example.com:443"]
    names = {line.lstrip("# ").partition(":")[0] for line in text.splitlines() if ":" in line}
    assert set(ServeOptions.__dataclass_fields__) - {"config"} <= names


def test_the_command_line_comes_before_the_environment_that_before_the_file(written):
    path = written(
        "port: 7001\nphones: 2\ndocker_host: tcp://file\nplaintext: true\nserial: [a, b]\ntransport: docker\n"
    )
    options = read("--config", path, "--port", "7002", "--no-plaintext", DOCKER_HOST="tcp://environment")
    assert (options.port, options.phones, options.spares) == (7002, 2, 1)
    assert (options.docker_host, options.plaintext, options.serial) == ("tcp://environment", False, ["a", "b"])
    assert options.transport is SourceKind.DOCKER
    assert read("--config", path, "--serial", "c").serial == ["c"]


def test_nodes_are_a_number_or_all(written):
    assert [read("--config", written(f"ray: true\nnodes: {nodes}")).nodes for nodes in ("3", "all")] == ["3", "all"]


def test_json_will_do_and_an_empty_file_says_nothing(written):
    assert read("--config", written('{"phones": 0, "tasks": ["mine.py"]}', "service.json")).tasks == [Path("mine.py")]
    assert read("--config", written("")) == read("--config", written("{}"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot: 1", r"service\.yaml: no key 'prot'; close: .*port"),
        ("phones-per-host: 1", r"no key 'phones-per-host'; close: phones_per_host"),
        ("config: x", "no key 'config'; known: adb_port, "),
        ("port: seven", r"service\.yaml: port must be a whole number, got 'seven'"),
        ("port: 1.5", "port must be a whole number, got 1.5"),
        ("port: true", "port must be a whole number, got True"),
        ("port: 70000", "port: .*65535"),
        ("plaintext: 1", "plaintext must be true or false, got 1"),
        ("drain_s: soon", "drain_s must be a number, got 'soon'"),
        ("host:", "host must be a text, got None"),
        ("tools: 3", "tools must be a text, got 3"),
        ("serial: emulator-5554", "serial must be a list of texts, got 'emulator-5554'"),
        ("transport: usb", "transport: 'usb' is not one of direct, adb, docker, attached"),
        ("phones: 99999999999", "phones: .*4096"),
        ("spares: 4097", "spares: .*4096"),
        ("max_sessions: 100000", "max_sessions: .*65536"),
        ("drain_s: 1.0e+9", "drain_s: .*3600"),
        ("drain_s: .inf", "drain_s must be a finite number, got inf"),
        ("drain_s: .nan", "drain_s must be a finite number, got nan"),
        (f"drain_s: 0x{'f' * 5000}", "service.yaml: "),
        (f"host: 0x{'f' * 5000}", "service.yaml: "),
        ('token_file: ""', "token_file must not be empty"),
        ('text2sql: ""', "text2sql must not be empty"),
        ('tasks: [mine.py, ""]', "no text of tasks must be empty"),
        ("port: 7000\nhost: a\nport: 7001", "the key 'port' is there twice"),
        (f"port: {'[' * 1000}", r"service\.yaml: nested too deeply$"),
        (f"host: {'x' * MAX_FILE_BYTES}", f"service.yaml: larger than {MAX_FILE_BYTES} bytes"),
        ("port: [&a [1, 1], [*a, *a]]", r"number, got \[\[1, 1\], \[\[\.\.\.\], \[\.\.\.\]\]\]$"),
        ("port: 0700", "'port': numbers are written in plain digits, got '0700'"),
        ("port: 1:20", "'port': numbers are written in plain digits, got '1:20'"),
        ("port: 7_001", "'port': numbers are written in plain digits, got '7_001'"),
        (
            "prot: 1\nphonse: 3\nspares: x",
            "'prot'; close: .*; no key 'phonse'; close: .*; spares must be a whole",
        ),
        ("\n".join(f"key{n}: 1" for n in range(1000)), r"yaml(?:(?!key8).)*'key7'(?:(?!key8).)*$"),
        ("- port", "options are written `key: value`"),
        ("{", "service.yaml: .*expected"),
    ],
)
def test_a_mistake_is_told_in_one_line(written, text, words):
    with pytest.raises(TaskError, match=words) as caught:
        read("--config", written(text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 50_000, "nested too deeply"),
        ('{"port": 1, "port": 2}', "the key 'port' is there twice"),
        ('{"drain_s": NaN}', "drain_s must be a finite number"),
        ('{"port": 1', "service.json: Expecting"),
    ],
)
def test_a_mistake_in_json_is_told_in_one_line(written, text, words):
    with pytest.raises(TaskError, match=words) as caught:
        read("--config", written(text, "service.json"))
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_told_and_never_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path):
        with pytest.raises(TaskError, match=f"^{path}: not a regular file$"):
            read("--config", str(path))
    with pytest.raises(TaskError, match=r"^no/such\.yaml: No such file or directory$"):
        read("--config", "no/such.yaml")


def test_a_whole_number_will_do_where_any_number_is_wanted(written):
    assert read("--config", written("drain_s: 7")).drain_s == 7.0


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--phones", "4097", "4096"),
        ("--drain-s", "inf", "3600"),
        ("--drain-s", "nan", "3600"),
        ("--transport", "usb", "'usb' is not one of direct"),
    ],
)
def test_an_option_has_the_same_bounds_as_its_key(option, value, words):
    done = CliRunner().invoke(cli.app, ["serve", option, value], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert words in done.output and "error," not in done.output
