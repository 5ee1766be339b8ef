"""The client of the environment service: all that a trainer, or any other player of episodes, needs."""

from rlfactory.envs.client.client import EnvClient, WatchEvent
from rlfactory.envs.client.config import ClientConfig, RetryPolicy
from rlfactory.envs.client.session import Session
from rlfactory.envs.client.status import PhoneStatus, ServiceStatus

__all__ = ["ClientConfig", "EnvClient", "PhoneStatus", "RetryPolicy", "ServiceStatus", "Session", "WatchEvent"]
