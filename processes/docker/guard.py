"""Keeps containers from the machine they run on.

An internal network has no route out, but its bridge has an address of the host: every service of the host that listens
on all addresses can be called there. The host needs that address to call the containers, so a firewall rule lets it
call them and not be called. It names our bridges by their prefix, stands in a table of its own, and costs other traffic
nothing. A container with the host's network puts it in (whoever may use the Docker engine may do that), and it stays
until the machine restarts: a phone must never be without it because another service has just ended.
"""

from __future__ import annotations

from typing import Final

BRIDGE_PREFIX: Final = "rlf"
"""Of the names of our bridges; with the 12 digits of a cell that is all that fits into an interface's name."""
_TABLE: Final = "rlfactory"
_IPTABLES_RULE: Final = f"INPUT -i {BRIDGE_PREFIX}+ -m conntrack --ctstate NEW -j DROP"
_NFT_RULES: Final = (
    f"table inet {_TABLE} {{ chain input {{ type filter hook input priority -10; policy accept; "
    f'iifname \\"{BRIDGE_PREFIX}*\\" ct state new drop; }}; }}'
)

HOST_ROOT: Final = "/host"
"""Where the helper sees this machine's files, to run the programs that its engine runs."""
RAISE: Final = f"""
export PATH=$PATH:/usr/sbin:/sbin
if command -v nft >/dev/null && nft list tables >/dev/null 2>&1; then
  nft list table inet {_TABLE} >/dev/null 2>&1 || nft "{_NFT_RULES}"
elif command -v iptables >/dev/null; then
  iptables -C {_IPTABLES_RULE} 2>/dev/null || iptables -I {_IPTABLES_RULE}
else
  echo "this machine has neither nft nor iptables" >&2; exit 1
fi
"""


def bridge_name(cell: str) -> str:
    """Return the name of a cell's bridge on the host."""
    return f"{BRIDGE_PREFIX}{cell}"
