"""The phones of a service: leased one at a time, reset after each lease, replaced when they fail.

config.py      how many, how patiently, and when a phone has served its time
slot.py        one place of the pool, and what may be known of it
leases.py      who gets which phone, and for how long
keeper.py      the life of one phone
starts.py      how many phones start at a time, and when to stop trying for a while
metrics.py     what Prometheus is told
pool.py        all of it together
"""

from rlfactory.emulators.pool.config import PoolConfig
from rlfactory.emulators.pool.leases import Lease
from rlfactory.emulators.pool.metrics import PoolMetrics
from rlfactory.emulators.pool.pool import Pool
from rlfactory.emulators.pool.slot import PhoneState, PhoneStatus, PoolStatus
from rlfactory.emulators.sources.source import PhoneSource

__all__ = ["Lease", "PhoneSource", "PhoneState", "PhoneStatus", "Pool", "PoolConfig", "PoolMetrics", "PoolStatus"]
