"""The client of the environment service: all that a trainer, or any other player of episodes, needs."""

from rlfactory.envs.client.client import ClientConfig, EnvClient, PhoneStatus, RetryPolicy, ServiceStatus, WatchEvent
from rlfactory.envs.client.session import Session

__all__ = ["ClientConfig", "EnvClient", "PhoneStatus", "RetryPolicy", "ServiceStatus", "Session", "WatchEvent"]
