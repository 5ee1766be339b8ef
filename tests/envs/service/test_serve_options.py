"""The options of `serve` in a file: checked once, overridden by the command line, mistakes told in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from rlfactory.emulators.sources.kinds import SourceKind
from rlfactory.envs.api.errors import TaskError
from rlfactory.envs.service.serve_options import ServeOptions, command

ROOT = Path(__file__).parents[3]


def read(*arguments: str, **environment: str) -> ServeOptions:
    """Return what a service is asked for by a command line."""
    app = typer.Typer()
    asked: list[ServeOptions] = []
    app.command()(command(ServeOptions)(asked.append))
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


def test_json_will_do_and_an_empty_file_says_nothing(written):
    assert read("--config", written('{"phones": 0, "tasks": ["mine.py"]}', "service.json")).tasks == [Path("mine.py")]
    assert read("--config", written("")) == read("--config", written("{}"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot: 1", r"service\.yaml: no key 'prot'; close: .*port"),
        ("phones-per-host: 1", r"no key 'phones-per-host'; close: phones_per_host"),
        ("config: x", "no key 'config'"),
        ("port: seven", r"service\.yaml: port must be a whole number, got 'seven'"),
        ("port: 1.5", "port must be a whole number, got 1.5"),
        ("port: true", "port must be a whole number, got True"),
        ("port: 70000", "port: .*65535"),
        ("plaintext: 1", "plaintext must be true or false, got 1"),
        ("drain_s: soon", "drain_s must be a number, got 'soon'"),
        ("host:", "host must be a text, got None"),
        ("tools: 3", "tools must be a text, got 3"),
        ("serial: emulator-5554", "serial must be a list of texts, got 'emulator-5554'"),
        ("transport: usb", "transport: .*'usb' is not one of direct, adb, docker, attached"),
        ("- port", "options are written `key: value`"),
        ("{", "service.yaml: .*expected"),
    ],
)
def test_a_mistake_is_told_in_one_line(written, text, words):
    with pytest.raises(TaskError, match=words) as caught:
        read("--config", written(text))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_told():
    with pytest.raises(TaskError, match=r"no/such\.yaml: .*No such file"):
        read("--config", "no/such.yaml")
