"""Programs that want out of their sandbox, down its host, or their session's replies forged.

`{secret}` is the path of a secret on the host, `{port}` a port that is listened on there. A program has got somewhere
if it prints the secret or one of `BOASTS`, if the port was reached, or if the next call of its session does not work.
They are for containers only: as processes of a machine many of them would do what they try.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

WROTE: Final = "WR" + "OTE"
GOT: Final = "GO" + "T"
BOASTS: Final = (WROTE, GOT)
"""Put together here and in the programs: their own text, in a traceback, is no success."""

SECRETS: Final = (
    *(
        "{secret}",
        "/host{secret}",
        "/proc/1/root{secret}",
        "/proc/self/root{secret}",
        "/proc/1/cwd{secret}",
        "/mnt{secret}",
    ),
    *(
        "/proc/1/environ",
        "/proc/self/mountinfo",
        "/var/run/docker.sock",
        "/run/docker.sock",
        "/etc/shadow",
        "/proc/kcore",
    ),
)
PLACES: Final = (
    *(
        "/etc/x",
        "/x",
        "/root/x",
        "/usr/x",
        "/opt/rlfactory/interpreter.py",
        "/sys/fs/cgroup/x",
        "/proc/sys/kernel/core_pattern",
    ),
    *(
        "/proc/sysrq-trigger",
        "/dev/sda",
        "/dev/mem",
        "/proc/1/oom_score_adj",
        "/proc/1/mem",
        "/lib/x",
        "/var/x",
        "{secret}",
    ),
)
HOSTS: Final = ("127.0.0.1", "172.17.0.1", "host.docker.internal", "10.0.0.1", "192.168.0.1", "169.254.169.254", "::1")
SYSCALLS: Final = {
    "mount": 165, "umount2": 166, "chroot": 161, "pivot_root": 155, "setns": 308, "unshare": 272, "bpf": 321,
    "keyctl": 250, "add_key": 248, "io_uring_setup": 425, "userfaultfd": 323, "perf_event_open": 298,
    "kexec_load": 246, "init_module": 175, "finit_module": 313, "open_by_handle_at": 304, "setuid": 105, "setgid": 106,
    "swapon": 167, "acct": 163, "settimeofday": 164, "sethostname": 170, "iopl": 172, "quotactl": 179,
    "process_vm_readv": 310,
}  # fmt: skip
"""By number on x86-64; each is called with arguments under which it would succeed, or harm, if it were allowed."""
ARGUMENTS: Final = {
    "unshare": "0x10000000",
    "setns": "3, 0",
    "setuid": "0",
    "setgid": "0",
    "add_key": "b'user', b'x', b'y', 1, -2",
}
LEFT_TO_ITSELF: Final = (
    *(
        "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
        "import os\nif os.fork() == 0:\n  os.setsid()\n  while True: os.fork()",
    ),
    *("x = []\nwhile True: x.append(bytearray(10_000_000))", "open('f', 'wb').write(bytes(100_000_000))"),
    *("n = 0\nwhile True:\n  n += 1\n  open(f'f{n}', 'wb').write(bytes(1_000_000))", "while True: print('x' * 1000)"),
    *("n = 0\nwhile True:\n  n += 1\n  open(f'e{n}', 'w').close()", "import os\nos.kill(-1, 9)"),
    *(
        "import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(60)",
        "import os, time\nos.kill(os.getppid(), 19)\ntime.sleep(60)",
    ),
    *(
        "import os\nos.kill(os.getpid(), 19)",
        "import os\nos.kill(os.getpid(), 11)",
        "import os\nos.closerange(0, 1000)",
    ),
    "import signal\nfor n in {*range(1, 65)} - {9, 19, 32, 33}:\n  signal.signal(n, signal.SIG_IGN)\nwhile True: pass",
    *("import os\nos.write(3, b'ok 1\\n')\nwhile True: pass", "import os\nwhile True: os.write(3, b'ok 2\\n')"),
    "import sys\nsys.setrecursionlimit(10**9)\nf = lambda: f()\nf()",
    "import threading\nwhile True: threading.Thread(target=lambda: 9**9**9).start()",
)


def programs(secret: str, port: int) -> Iterator[str]:
    """Give them all."""
    for path in SECRETS:
        yield f"import os\nfd = os.open({path!r}, 0)\nprint(os.read(fd, 65536))".replace("{secret}", secret)
    name = secret.rpartition("/")[2]
    yield f"import os\nfor folder, _, files in os.walk('/'):\n  if {name!r} in files: print('GO' + 'T')"
    yield "import glob\nfor p in glob.glob('/proc/[0-9]*/environ'):\n try: print(open(p).read())\n except OSError: 0"
    for path in PLACES:
        yield f"open({path!r}, 'a').write('x')\nprint('WR' + 'OTE')".replace("{secret}", secret)
    for host in HOSTS:
        yield f"import socket\nsocket.create_connection(({host!r}, {port}), 1)\nprint('GO' + 'T')"
    yield f"import urllib.request\nurllib.request.urlopen('http://172.17.0.1:{port}', timeout=1)\nprint('GO' + 'T')"
    yield "import socket\nprint('GO' + 'T', socket.gethostbyname('example.org'))"
    yield "import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW)\nprint('GO' + 'T')"
    yield "import os\nos.mknod('/tmp/d', 0o600 | 0o60000, 2049)\nprint('GO' + 'T')"
    yield (
        "import os\nopen('t', 'wb').write(open('/bin/true', 'rb').read())\nos.chmod('t', 0o755)\n"
        "print(os.spawnv(0, './t', ['t']) == 0 and 'GO' + 'T')"
    )
    for name, number in SYSCALLS.items():
        call = f"libc.syscall({number}, {ARGUMENTS.get(name, '0, 0, 0, 0, 0')})"
        yield f"import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nprint({call} >= 0 and 'GO' + 'T')"
    yield from LEFT_TO_ITSELF
