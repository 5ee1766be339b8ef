"""The recipe's own section, `rlfactory`, read once and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from rlfactory.envs.api.types import ImageFormat, SessionOptions
from rlfactory.envs.wire.trust_options import ClientTrustFiles
from rlfactory.trainer.dialects import Dialect
from rlfactory.trainer.episode.context import Window
from rlfactory.trainer.episode.rollout import RolloutConfig, session_options


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutSettings:
    """What the process that plays episodes needs to know."""

    address: str
    """host:port of the environment service."""
    run_folder: str
    dialect: str
    turn_tokens: int
    """Limit of one model turn."""
    told_tokens: int | None
    """Limit of what the model is told between two turns."""
    max_turns: int | None
    """Fewer than the tasks' own."""
    image_format: ImageFormat
    image_quality: int
    max_pixels: int | None
    """Pixel budget of a screenshot; None for models that read only text."""
    record_every_train: int
    """Record every n-th training prompt's episodes in full; 0: none."""
    record_every_eval: int
    rollout: RolloutConfig
    window: Window | None = None
    """What rows after an episode's first begin with; None: an episode is one row."""
    otlp_endpoint: str = ""
    """Where to send traces; "": nowhere."""
    trust: ClientTrustFiles = field(default_factory=ClientTrustFiles)
    """What the service wants of us."""

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> RolloutSettings:
        """Read the section `rlfactory` of a composed recipe."""
        image, record, deadlines = config["image"], config["record"], config["deadlines"]
        return cls(
            address=str(config["address"]),
            run_folder=str(config["run_folder"]),
            dialect=str(config["dialect"]),
            turn_tokens=int(config["turn_tokens"]),
            told_tokens=_number(config.get("told_tokens")),
            max_turns=_number(config.get("max_turns")),
            image_format=ImageFormat(image["format"]),
            image_quality=int(image["quality"]),
            max_pixels=_number(image["max_pixels"]),
            record_every_train=int(record["every_train"]),
            record_every_eval=int(record["every_eval"]),
            rollout=RolloutConfig(**{name: deadlines[name] for name in deadlines}),
            window=Window.from_config(config.get("context")),
            otlp_endpoint=str(config.get("otlp_endpoint") or ""),
            trust=_trust_files(config.get("trust") or {}),
        )

    def options(self, dialect: Dialect, *, with_tree: bool = False) -> SessionOptions:
        """Return what a session is asked for."""
        asked = SessionOptions(
            image_format=self.image_format,
            image_quality=self.image_quality,
            max_pixels=self.max_pixels,
            with_tree=with_tree,
            max_turns=self.max_turns,
            step_timeout_s=self.rollout.step_timeout_s,
        )
        return session_options(dialect, asked)


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def _trust_files(section: Mapping[str, Any]) -> ClientTrustFiles:
    paths = {name: Path(section[name]) for name in ("token_file", "ca", "certificate", "key") if section.get(name)}
    return ClientTrustFiles(
        **paths, server_name=str(section.get("server_name") or ""), plaintext=bool(section.get("plaintext"))
    )


def recipe_of(folder: Path) -> Any:
    """Return the configuration of the run that a checkpoint lies in, None when it lies in no run."""
    for parent in [folder, *folder.resolve().parents[:5]]:
        path = parent / "config.yaml"
        if path.exists():
            config = OmegaConf.load(path)
            return config if "rlfactory" in config else None
    return None


def screen_of(recipe: Any) -> tuple[int, int] | None:
    """Return width and height of the phones that a recipe starts; None when it starts no service."""
    service = recipe.rlfactory.service
    return (int(service.width_px), int(service.height_px)) if service else None
