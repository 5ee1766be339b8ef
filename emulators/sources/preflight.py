"""What a machine must have before phones are started on it: each lack is named, with what mends it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rlfactory.emulators.device.errors import DeviceUnsupported
from rlfactory.emulators.sources.kinds import SourceKind
from rlfactory.emulators.sources.standing import KVM, StandingConfig
from rlfactory.processes.docker.engine import DockerEngine

MAX_DEFAULT_NETWORKS: Final = 31
"""That an engine can make from its default address pools; each container of ours takes one."""


class PreflightFailed(DeviceUnsupported):
    """The machine lacks something; the message says what and how to mend it."""

    reason = "PREFLIGHT_FAILED"


def require(engine: DockerEngine, config: StandingConfig) -> None:
    """Raises: PreflightFailed: it names everything that is missing. ImageMissing: the image is all that is."""
    problems = list(_problems(engine, config))
    if problems:
        raise PreflightFailed("; ".join(problems))
    engine.require_image(config.spec().image)


def _problems(engine: DockerEngine, config: StandingConfig) -> Iterator[str]:
    match config.kind:
        case SourceKind.EMULATOR:
            yield from _kvm_problems(KVM)
        case SourceKind.REDROID:
            yield from _binder_problems(Path("/proc/filesystems").read_text(), Path("/dev"))
    yield from _memory_problems(Path("/proc/meminfo").read_text(), config)
    yield from _disk_problems(engine.storage(), config)
    yield from network_problems(engine.networks(), config.containers)


def _kvm_problems(kvm: Path) -> Iterator[str]:
    if not kvm.exists():
        yield (
            f"{kvm} is missing: the Android emulator needs hardware virtualisation; switch it on in the firmware, or "
            "(in a virtual machine) allow nested virtualisation, then: modprobe kvm_intel or kvm_amd"
        )
    elif not os.access(kvm, os.R_OK | os.W_OK):
        yield f"{kvm} may not be used by this user: sudo usermod -aG kvm $USER, and log in again"


def _binder_problems(filesystems: str, devices: Path) -> Iterator[str]:
    if "\tbinder\n" not in filesystems and not any(devices.glob("binder*")):
        yield (
            "the kernel has no binder, which redroid needs: modprobe binder_linux devices=binder,hwbinder,vndbinder "
            "(on Ubuntu: apt install linux-modules-extra-$(uname -r))"
        )


def _memory_problems(meminfo: str, config: StandingConfig) -> Iterator[str]:
    available_kb = next(int(line.split()[1]) for line in meminfo.splitlines() if line.startswith("MemAvailable:"))
    needed_mb = config.expected_memory_mb
    if available_kb / 1024 < needed_mb:
        yield (
            f"{config.phones} phones take about {needed_mb} MB of memory, {available_kb // 1024} MB are free: "
            "start fewer, or end something"
        )


def _disk_problems(storage: Path, config: StandingConfig) -> Iterator[str]:
    if not storage.exists():  # the engine's disk is on another machine, or not ours to see
        return
    free_mb = shutil.disk_usage(storage).free // 1_000_000
    if free_mb < config.expected_disk_mb:
        yield (
            f"{config.expected_disk_mb} MB of disk are needed below {storage}, {free_mb} MB are free: "
            "docker image prune, or a larger disk"
        )


def network_problems(networks: int, containers: int) -> Iterator[str]:
    """Yield what is wrong when so many more networks are made."""
    if networks + containers > MAX_DEFAULT_NETWORKS:
        yield (
            f"{containers} containers need a network each, and the engine has {networks} of about "
            f"{MAX_DEFAULT_NETWORKS}: raise --phones-per-container, or give it default-address-pools in daemon.json"
        )
