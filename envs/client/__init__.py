"""The client of the environment service: all that a trainer, or any other player of episodes, needs."""

from rlfactory.envs.client.client import EnvClient, PhoneStatus, ServiceStatus, WatchEvent
from rlfactory.envs.client.config import ClientConfig, RetryPolicy
from rlfactory.envs.client.session import Session

__all__ = ["ClientConfig", "EnvClient", "PhoneStatus", "RetryPolicy", "ServiceStatus", "Session", "WatchEvent"]
