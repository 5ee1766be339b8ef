"""Keeps containers from the machine they run on.

An internal network has no route out, but its bridge has an address of the host: every service of the host that listens
on all addresses can be called there. The host needs that address to call the containers, so a firewall rule lets it
call them and not be called. It names our bridges by their prefix, stands in a table of its own, and costs other traffic
nothing. A service that runs in a container has joined its cells' networks instead, where they could call it: a rule in
its own network namespace lets new connections in only on the interfaces that it had before.

A container with the host's network puts it in (whoever may use the Docker engine may do that), and it stays
until the machine restarts: a phone must never be without it because another service has just ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

BRIDGE_PREFIX: Final = "rlf"
"""Of the names of our bridges; with the 12 digits of a cell that is all that fits into an interface's name."""
_TABLE: Final = "rlfactory"
OWN_INTERFACES: Final = Path("/sys/class/net")

HOST_ROOT: Final = "/host"
"""Where the helper sees this machine's files, to run the programs that its engine runs."""
_TOOLS: Final = """
export PATH=$PATH:/usr/sbin:/sbin
if command -v nft >/dev/null && nft list tables >/dev/null 2>&1; then
  nft list table inet {table} >/dev/null 2>&1 || nft "{nft}"
elif command -v iptables >/dev/null; then
  iptables -S {table} >/dev/null 2>&1 || {{ iptables -N {table} && {iptables} && iptables -I INPUT -j {table}; }}
else
  echo "this machine has neither nft nor iptables" >&2; exit 1
fi
"""


def raised_on_host() -> str:
    """Return the script that keeps cells from this machine."""
    dropped = f'iifname \\"{BRIDGE_PREFIX}*\\" ct state new drop'
    return _script(dropped, [f"-i {BRIDGE_PREFIX}+ -m conntrack --ctstate NEW -j DROP"])


def raised_around(interfaces: Iterable[str]) -> str:
    """Return the script that lets new connections in on these interfaces alone."""
    names = sorted(interfaces)
    quoted = ", ".join(f'\\"{name}\\"' for name in names)
    returned = [f"-i {name} -j RETURN" for name in names]
    return _script(f"iifname != {{ {quoted} }} ct state new drop", [*returned, "-m conntrack --ctstate NEW -j DROP"])


def _script(nft_rule: str, iptables_rules: list[str]) -> str:
    chain = f"chain input {{ type filter hook input priority -10; policy accept; {nft_rule}; }}"
    return _TOOLS.format(
        table=_TABLE,
        nft=f"table inet {_TABLE} {{ {chain}; }}",
        iptables=" && ".join(f"iptables -A {_TABLE} {rule}" for rule in iptables_rules),
    )


def bridge_name(cell: str) -> str:
    """Return the name of a cell's bridge on the host."""
    return f"{BRIDGE_PREFIX}{cell}"
