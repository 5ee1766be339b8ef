"""Recipes that are composed once: Hydra takes a second for one, a copy takes nothing."""

from __future__ import annotations

import copy
from functools import cache

from omegaconf import DictConfig

from rlfactory.trainer.run.recipe import compose_recipe, override_recipe


@cache
def _composed(name: str, *groups: str) -> DictConfig:
    return compose_recipe(name, groups)


def composed(name: str, *groups: str, overrides: list[str] | None = None) -> DictConfig:
    """Return the recipe with these groups (`hardware=gpu`); its keys are overridden, and checked again, in a copy."""
    config = copy.deepcopy(_composed(name, *groups))
    if overrides:
        override_recipe(config, overrides)
    return config
