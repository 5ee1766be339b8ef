"""The phones of a service: leased one at a time, reset after each lease, replaced when they fail.

source.py      where phones come from
config.py      how many, how patiently, and when a phone has served its time
slot.py        one place of the pool, and what may be known of it
leases.py      who gets which phone, and for how long
keeper.py      the life of one phone
health.py      does an idle phone still answer
recycling.py   has a healthy phone served its time
starts.py      how many phones start at a time, and when to stop trying for a while
metrics.py     what Prometheus is told
pool.py        all of it together
"""

from emulators.pool.config import PoolConfig
from emulators.pool.leases import Lease
from emulators.pool.metrics import PoolMetrics
from emulators.pool.pool import Pool
from emulators.pool.slot import PhoneState, PhoneStatus, PoolStatus
from emulators.pool.source import PhoneSource

__all__ = ["Lease", "PhoneSource", "PhoneState", "PhoneStatus", "Pool", "PoolConfig", "PoolMetrics", "PoolStatus"]
