"""Every bound of running SQL, in one place."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields


@dataclass(frozen=True, kw_only=True, slots=True)
class SqlLimits:
    """Bounds of one query and of the process that runs it. All must be above 0."""

    max_rows: int = 10_000
    max_result_bytes: int = 4 << 20
    """Of all values of a result together."""
    max_value_bytes: int = 1 << 20
    """Of one value, also of those that a query makes on its way."""
    max_sql_chars: int = 20_000
    max_memory_bytes: int = 256 << 20
    """That one database engine may use for a query, beside the databases themselves."""
    max_process_bytes: int = 4 << 30
    """Address space of a worker process, in which its databases and two engines' libraries have to fit too."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ValueError(f"{field.name} must be above 0, got {value}")

    def as_dict(self) -> dict[str, int]:
        return asdict(self)
