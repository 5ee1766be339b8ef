#!/bin/bash
# Say whether this machine can run redroid, and how to mend what it lacks. Exit code 0 when nothing is missing.
set -euo pipefail
: "${ROOT:=}" # tests look at a made-up machine below this folder
missing=0

lack() {
  echo "missing: $1" >&2
  echo "         $2" >&2
  missing=1
}

if ! grep -qw binder "$ROOT/proc/filesystems" && ! compgen -G "$ROOT/dev/binder*" >/dev/null; then
  lack "binder in the kernel" \
    "modprobe binder_linux devices=binder,hwbinder,vndbinder (on Ubuntu first: apt install linux-modules-extra-$(uname -r))"
fi

available_mb=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' "$ROOT/proc/meminfo")
if [ "$available_mb" -lt 3072 ]; then
  lack "memory: $available_mb MB are available, a phone takes about 3072" "end something, or use a larger machine"
fi

case $(uname -m) in
  x86_64 | aarch64) ;;
  *) lack "a processor that redroid has images for" "use x86_64 or aarch64, this is $(uname -m)" ;;
esac

if [ "$missing" -eq 0 ]; then
  echo "this machine can run redroid"
fi
exit "$missing"
