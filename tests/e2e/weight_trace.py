"""A plugin for vLLM that notes a digest of its weights after each weight sync, and what installs it for a run."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

NOTES = "WEIGHT_TRACE_NOTES"


def installed(folder: Path) -> dict[str, str]:
    """Put the plugin where the processes find it that have this environment added."""
    metadata = folder / "weight_trace-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: weight-trace\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[vllm.general_plugins]\nweight_trace = weight_trace:register\n")
    shutil.copy(__file__, folder / "weight_trace.py")
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    return {"PYTHONPATH": path, NOTES: str(folder / "digests.txt")}


def digests(folder: Path) -> list[str]:
    """Return the digests after each sync."""
    return (folder / "digests.txt").read_text().split()


def register() -> None:
    """Called in each of vLLM's processes."""
    from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension as Extension

    original = Extension.update_weights_from_ipc
    if original.__module__ == __name__:
        return

    def update_weights_from_ipc(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        total = hashlib.sha256()
        for name, value in sorted(self.model_runner.model.named_parameters()):
            total.update(name.encode() + value.detach().float().cpu().contiguous().numpy().tobytes())
        with Path(os.environ[NOTES]).open("a") as notes:
            notes.write(total.hexdigest() + "\n")
        return result

    update_weights_from_ipc.__module__ = __name__
    Extension.update_weights_from_ipc = update_weights_from_ipc
