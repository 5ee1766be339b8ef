#!/bin/sh
# Make the base image with debootstrap, for hosts that cannot pull it: scripts/base_image.sh [TAG]
#
# The result stands in for the public image of the same name and has its shape: Debian's minbase without documentation
# and without apt's caches. Nothing is done when the engine has the image already; FORCE=1 makes it anew.
# DEBIAN_MIRROR names another mirror than debootstrap's own. Must run as root.
set -eu

tag=${1:-debian:bookworm-slim}
suite=bookworm
mirror=${DEBIAN_MIRROR:-}

fail() {
  echo "error: $*" >&2
  exit 1
}

docker version >/dev/null 2>&1 || fail "no Docker engine answers; on Debian and Ubuntu: apt install docker.io"
if [ -z "${FORCE:-}" ] && docker image inspect "$tag" >/dev/null 2>&1; then
  echo "$tag is there already (FORCE=1 makes it anew)"
  exit 0
fi
command -v debootstrap >/dev/null || fail "debootstrap is missing; on Debian and Ubuntu: apt install debootstrap"
[ "$(id -u)" -eq 0 ] || fail "debootstrap must run as root: sudo $0"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

echo "debootstrap $suite (about two minutes; its log is shown when it fails)"
if ! debootstrap --variant=minbase "$suite" "$root" ${mirror:+"$mirror"} >"$work/log" 2>&1; then
  tail -n 20 "$work/log" >&2
  fail "debootstrap failed"
fi

# Updates of the same mirror: a point release is months old when it is installed.
read -r _ mirror _ <"$root/etc/apt/sources.list"
{
  echo "deb $mirror $suite main"
  echo "deb $mirror $suite-updates main"
  echo "deb ${mirror%/debian*}/debian-security $suite-security main"
} >"$root/etc/apt/sources.list"
cp /etc/resolv.conf "$root/etc/resolv.conf"
cat >"$root/etc/dpkg/dpkg.cfg.d/slim" <<'SLIM'
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/info/*
path-exclude /usr/share/man/*
path-exclude /usr/share/locale/*
SLIM
cat >"$root/etc/apt/apt.conf.d/slim" <<'SLIM'
Acquire::Languages "none";
Apt::AutoRemove::SuggestsImportant "false";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
SLIM
if ! DEBIAN_FRONTEND=noninteractive chroot "$root" sh -c 'apt-get update && apt-get -y upgrade' >"$work/log" 2>&1; then
  tail -n 20 "$work/log" >&2
  fail "the updates could not be installed"
fi

chroot "$root" apt-get clean
find "$root/usr/share/doc" -type f ! -name copyright -delete
find "$root/usr/share/doc" -type l -delete
rm -rf "$root"/usr/share/man/* "$root"/usr/share/info/* "$root"/usr/share/locale/* "$root"/usr/share/lintian/* \
  "$root"/var/lib/apt/lists/* "$root"/var/cache/* "$root"/var/log/* "$root"/tmp/* "$root"/etc/resolv.conf \
  "$root"/etc/hostname
: >"$root/etc/machine-id"

tar --numeric-owner -C "$root" -c . | docker import --change 'CMD ["bash"]' - "$tag" >/dev/null
echo "$tag: $(docker image inspect --format '{{.Size}}' "$tag" | awk '{printf "%.0f MB", $1 / 1e6}')"
