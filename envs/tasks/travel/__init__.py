"""Trips to plan over flights, hotels and weather: every constraint is verified, and the tempting plan breaks one."""

from __future__ import annotations

from rlfactory.envs.tasks.travel.trips import TRAVEL_TASKS

__all__ = ["TRAVEL_TASKS"]
