"""The phone's shell against this machine's POSIX shell, its limits, and garbage."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlfactory.emulators.simulator.android.system_image import GoldenImages
from rlfactory.emulators.simulator.phone import Phone, PhoneConfig
from rlfactory.emulators.simulator.shell.run import MAX_COMMAND_CHARS

SH = shutil.which("dash") or shutil.which("sh")

SNIPPETS = Path(__file__).with_name("posix_snippets.txt").read_text("utf-8").splitlines()
"""One command line each."""


MULTILINE = (
    'cat <<EOF\ntext $((1+1)) "quoted"\nEOF',
    "cat <<'EOF'\nraw $x `y`\nEOF",
    "cat <<-EOF\n\ttabs stripped\n\tEOF",
    "x=v; cat <<EOF | tr a-z A-Z\nvalue is $x\nEOF",
    "echo first \\\n  second",
    'echo "line\nbreak"',
    "x=$(cat <<EOF\ninside\nEOF\n); echo $x",
    "if true\nthen\n\n echo a # note\n\nelse\n echo b\nfi",
    "for i in 1 \\\n 2\ndo\n echo $i\ndone",
    "case x in\n a) echo a ;;\n (x)\n echo x\n ;;\nesac",
    "echo a |\n\n cat &&\n echo b",
)


@pytest.fixture(scope="module")
def base(golden: GoldenImages) -> Phone:
    return Phone(PhoneConfig(), apps=(), golden=golden)


def _ours(phone: Phone, script: str) -> tuple[bytes, int]:
    phone.state.files.make_dirs("/work")
    snapshot = phone.snapshot()
    try:
        output = phone.shell(f"cd /work\n{script}")
    finally:
        phone.restore(snapshot)
    return output.stdout, output.exit_code


def _theirs(folder: Path, script: str) -> tuple[bytes, int]:
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/"}
    result = subprocess.run(
        [str(SH), "-c", script], cwd=folder, env=environment, capture_output=True, timeout=20, check=False
    )
    return result.stdout, result.returncode


@pytest.mark.parametrize("script", [*SNIPPETS, *MULTILINE])
def test_says_what_the_posix_shell_says(base: Phone, tmp_path: Path, script: str) -> None:
    assert _ours(base, script) == _theirs(tmp_path, script)


# --- random scripts --------------------------------------------------------------------------------------------------

_WORDS = st.sampled_from(
    [
        "a",
        "'b c'",
        '"$x"',
        "$x",
        "${y:-z}",
        "x*",
        '"*"',
        "$(echo s t)",
        '"$(echo s  t)"',
        "$((1+2))",
        "\\$x",
        "''",
        "$?",
    ]
)
_SIMPLE = st.one_of(
    st.lists(_WORDS, min_size=0, max_size=3).map(lambda words: " ".join(["echo", *words])),
    st.sampled_from(
        [
            "true",
            "false",
            "x=1",
            "x='p  q'",
            "y=$x",
            "[ $x = 1 ]",
            '[ -n "$y" ]',
            "echo out > f",
            "cat f",
            "echo m >> f",
        ]
    ),
)
_SCRIPTS = st.recursive(
    _SIMPLE,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" && ", " || ", "; ", "\n"]), inner).map("".join),
        st.tuples(inner, st.sampled_from(["cat", "tr a-z A-Z", "grep -c .", "sort", "head -n 1"])).map(
            lambda pair: f"{{ {pair[0]}\n}} | {pair[1]}"
        ),
        inner.map(lambda body: f"( {body}\n)"),
        inner.map(lambda body: f"! {{ {body}\n}}"),
        st.tuples(inner, inner, inner).map(lambda three: "if {}\nthen {}\nelse {}\nfi".format(*three)),
        st.tuples(st.lists(_WORDS, max_size=3), inner).map(
            lambda pair: f"for x in {' '.join(pair[0])}; do {pair[1]}\ndone"
        ),
        st.tuples(_WORDS, inner).map(lambda pair: f"case {pair[0]} in a|p*) {pair[1]}\n;; *) echo other;; esac"),
        inner.map(lambda body: f'y=$( {body}\n); echo "$y"'),
    ),
    max_leaves=8,
)


@given(script=_SCRIPTS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_scripts_behave_as_in_the_posix_shell(
    base: Phone, tmp_path_factory: pytest.TempPathFactory, script: str
) -> None:
    folder = tmp_path_factory.mktemp("sh")
    assert _ours(base, script) == _theirs(folder, script)


# --- garbage and limits ----------------------------------------------------------------------------------------------

_TOKENS = """
if then fi for in do done while case esac { } ( ) | && || ; & $( ` ' " $(( )) ${ > >> < << 2>&1 \\ * [ ] ! ~ echo x=1 $x
cat ls /sdcard -l find -exec {} + é sed s/a/b/ am start -n pm list input tap settings put content query --uri dumpsys -1
test expr printf %d %s date +%Y sqlite3 select grep -E xargs sort -k
"""
_FRAGMENTS = st.sampled_from([*_TOKENS.split(), "\n", " ", "\0", "\udcff"])


@given(pieces=st.lists(st.one_of(_FRAGMENTS, st.text(max_size=5)), max_size=14), glue=st.sampled_from(["", " "]))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_is_answered_and_the_phone_lives_on(base: Phone, pieces: list[str], glue: str) -> None:
    snapshot = base.snapshot()
    base.shell(glue.join(pieces), stdin=b"line\n")
    base.restore(snapshot)
    assert base.shell("echo alive").stdout == b"alive\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("while true; do :; done", "200000 steps"),
        ("x=aaaaaaaaaaaaaaaa; while true; do x=$x$x; done", "64 MiB"),
        ("while true; do cat /big; done", "64 MiB"),
        ("eval 'x=1; " + "y=$(echo $x)" * 3 + "'; " + "( " * 60 + "echo deep" + " )" * 60, "nested deeper"),
        ("echo 'sh /loop' > /loop; sh /loop", "48 levels"),
    ],
)
def test_what_would_never_end_is_stopped_and_says_why(base: Phone, command: str, words: str) -> None:
    base.state.files.write("/big", bytes(1024 * 1024))
    output = base.shell(command)
    assert words in output.stderr.decode()
    assert output.exit_code in {1, 137}


def test_a_huge_command_line_is_refused(base: Phone) -> None:
    output = base.shell("echo " + "x" * MAX_COMMAND_CHARS)
    assert output.exit_code == 1
    assert b"longer than" in output.stderr


@pytest.mark.parametrize("pattern", ["*" * 50 + "x", "[a-z" * 40, "?*" * 60])
def test_patterns_take_no_exponential_time(base: Phone, pattern: str) -> None:
    output = base.shell(f"case {'a' * 200} in {pattern}) echo hit;; *) echo ended;; esac")
    assert output.stdout in {b"hit\n", b"ended\n"}


@pytest.mark.parametrize(
    ("command", "message", "exit_code"),
    [
        ("nosuch", "/system/bin/sh: nosuch: inaccessible or not found", 127),
        ("cat /nope", "cat: /nope: No such file or directory", 1),
        ("cd /data; cat nope", "cat: nope: No such file or directory", 1),
        ("ls /sdcard/nope", "ls: /sdcard/nope: No such file or directory", 1),
        ("echo x > /nope/f", "/system/bin/sh: can't create /nope/f: No such file or directory", 1),
        ("echo 'open", "/system/bin/sh: no closing quote '", 1),
        ("if true; then", "/system/bin/sh: syntax error: unexpected end of file", 1),
        (")", "/system/bin/sh: syntax error: unexpected ')'", 1),
        ("/data", "/system/bin/sh: /data: can't execute: Permission denied", 126),
    ],
)
def test_errors_read_as_on_android(base: Phone, command: str, message: str, exit_code: int) -> None:
    output = base.shell(command)
    assert output.stderr.decode().rstrip("\n") == message
    assert output.exit_code == exit_code


def test_adbutils_exit_code_suffix(base: Phone) -> None:
    assert base.shell("false; echo X4EXIT:$?").stdout == b"X4EXIT:1\n"
    assert base.shell("ls / | grep -q data; echo X4EXIT:$?").stdout == b"X4EXIT:0\n"


def test_binary_data_passes_through_pipes_and_files(base: Phone) -> None:
    data = bytes(range(256)) * 4
    output = base.shell("cat > /data/blob; cat /data/blob | cat", stdin=data)
    assert output.stdout == data
    assert base.state.files.read("/data/blob") == data


def test_scripts_run_from_files(base: Phone) -> None:
    base.state.files.write("/data/local/tmp/s.sh", b'#!/system/bin/sh\necho "$0 $1 $#"\nexit 4\n')
    output = base.shell("sh /data/local/tmp/s.sh one; echo $?; /data/local/tmp/s.sh two")
    assert output.stdout == b"/data/local/tmp/s.sh one 1\n4\n/data/local/tmp/s.sh two 1\n"
    assert output.exit_code == 4
