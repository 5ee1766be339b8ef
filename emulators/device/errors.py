"""What can go wrong between us and a phone; every one of these is the infrastructure's fault, never the model's.

    DeviceError
      DeviceLost         the phone is gone: adb no longer lists it, its process died, its socket closed
      DeviceTimeout      the phone did not answer within the deadline of the call
      CommandFailed      a shell command that had to succeed exited non-zero
      DeviceUnsupported  this phone cannot do that (a snapshot on a physical phone, say)
      PoolExhausted      no phone became free in time, or too many clients wait already

A wrong action of the model (an unknown app, a point off the screen) is `ActionRejected`: it is data for the model,
so it does not descend from `DeviceError`.
"""

from __future__ import annotations


class DeviceError(Exception):
    """A phone failed us. The message names the phone."""

    reason = "DEVICE_ERROR"
    retryable = True


class DeviceLost(DeviceError):
    """The phone is gone and has to be replaced."""

    reason = "DEVICE_LOST"


class DeviceTimeout(DeviceError):
    """The phone did not answer within the deadline."""

    reason = "DEVICE_TIMEOUT"


class CommandFailed(DeviceError):
    """A shell command of ours that had to succeed did not."""

    reason = "DEVICE_COMMAND_FAILED"

    def __init__(self, command: str, exit_code: int, output: str) -> None:
        super().__init__(f"{command!r} exited {exit_code}: {output.strip()[:500]}")
        self.command = command
        self.exit_code = exit_code
        self.output = output


class DeviceUnsupported(DeviceError):
    """The phone has no such ability."""

    reason = "DEVICE_UNSUPPORTED"
    retryable = False


class PoolExhausted(DeviceError):
    """No phone to be had; the message says why."""

    reason = "POOL_EXHAUSTED"


class ActionRejected(ValueError):
    """The action makes no sense on this phone (its sender's mistake); nothing was done."""
