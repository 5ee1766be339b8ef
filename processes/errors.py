"""What goes wrong with processes and containers, whatever they are for.

    ProcessError           it could not be started, or failed
      ProgramEnded         it has ended while it was spoken to, or does not answer as agreed
      EngineError          the Docker engine refused or failed
        EngineUnavailable  no engine answers
        ImageMissing       the engine does not have the image

Who uses one says what it means: phones raise `DeviceError`, sandboxes `InfrastructureError`.
"""

from __future__ import annotations


class ProcessError(Exception):
    """A process or a container could not be started, or failed."""

    reason = "PROCESS_ERROR"
    retryable = True


class ProgramEnded(ProcessError):
    """It has ended while it was spoken to, or does not answer as agreed."""

    reason = "PROGRAM_ENDED"


class EngineError(ProcessError):
    """The Docker engine refused or failed."""

    reason = "ENGINE_ERROR"


class EngineUnavailable(EngineError):
    """No Docker engine answers."""

    reason = "ENGINE_UNAVAILABLE"


class ImageMissing(EngineError):
    """The engine does not have the image."""

    reason = "IMAGE_MISSING"
    retryable = False
