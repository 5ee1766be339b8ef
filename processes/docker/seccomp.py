"""The calls that programs in containers of ours may make of the kernel: what Python and a shell need, and no more.

Narrower than Docker's profile, which is meant for any program: without io_uring, ptrace and its kin, shared memory and
queues of System V, namespaces, and all families of sockets but Unix, IP and netlink. The rest fails with EPERM.
Containers whose programs are not ours (an emulator) keep Docker's profile.

Source: man 2 syscalls; the format is that of Docker's own profile.
"""

from __future__ import annotations

import errno
import json
import socket
from typing import Any, Final

_FILES: Final = """
access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64
fallocate fchdir fchmod fchmodat fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fstat fstatfs fsync
ftruncate getcwd getdents getdents64 getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch ioctl
lchown lgetxattr link linkat listxattr llistxattr lseek lstat mkdir mkdirat newfstatat open openat openat2 pread64
preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv rename renameat renameat2 rmdir
sendfile splice stat statfs statx symlink symlinkat sync sync_file_range syncfs tee truncate umask unlink unlinkat
utime utimensat utimes write writev
"""
_MEMORY: Final = """
brk madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap msync munlock munlockall munmap
"""
_PROCESSES: Final = """
arch_prctl capget capset execve execveat exit exit_group fork get_robust_list getegid geteuid getgid getgroups getpgid
getpgrp getpid getppid getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid kill pidfd_open
pidfd_send_signal prctl prlimit64 rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
rt_sigsuspend rt_sigtimedwait sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr
sched_getparam sched_getscheduler sched_setaffinity sched_setscheduler sched_yield set_robust_list set_tid_address
setgid setgroups setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setuid sigaltstack tgkill
tkill vfork wait4 waitid
"""
_WAITING: Final = """
alarm clock_getres clock_gettime clock_nanosleep epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2
epoll_wait eventfd eventfd2 futex futex_waitv getcpu getitimer getrandom gettimeofday nanosleep pause pipe pipe2 poll
ppoll pselect6 restart_syscall select setitimer signalfd signalfd4 sysinfo time timer_create timer_delete
timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times uname
"""
_CONNECTIONS: Final = """
accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg
sendto setsockopt shutdown socketpair
"""
_NAMESPACES: Final = 0x7E020000
"""Flags of clone(2) that make a namespace of any kind (CLONE_NEW*)."""
_FAMILIES: Final = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16)
"""Of sockets; 16 is AF_NETLINK, by which names of interfaces are asked for."""


def _allowed(names: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"names": names.split(), "action": "SCMP_ACT_ALLOW", "args": list(arguments)}


PROFILE: Final = json.dumps(
    {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": errno.EPERM,
        "archMap": [
            {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []},
            {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": []},
        ],
        "syscalls": [
            _allowed(_FILES + _MEMORY + _PROCESSES + _WAITING + _CONNECTIONS),
            *(_allowed("socket", {"index": 0, "value": int(each), "op": "SCMP_CMP_EQ"}) for each in _FAMILIES),
            _allowed("clone", {"index": 0, "value": _NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}),
            # Its flags lie in memory, where no filter can read them: the C library then takes clone.
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
        ],
    }
)
