#!/bin/bash
# Runs one Android emulator without a window, and lets the service reach it once it is ready:
#
#   console 5554, adb 5555 and gRPC 8554, on the container's own address.
#
# The first start boots Android and saves the snapshot `golden`; later ones load it. Set by environment:
#   PHONE_WIDTH PHONE_HEIGHT PHONE_DENSITY   the screen (1080 2400 420)
#   PHONE_MEMORY_MB PHONE_CORES              what Android gets (4096 2)
#   PHONE_BOOT_TIMEOUT_S                     how long a start may take (600)
#   HTTP_PROXY                               the phone's way out, if it has one
set -euo pipefail
cd "$(dirname "$0")"

: "${ANDROID_HOME:=/opt/android}" "${ANDROID_AVD_HOME:=/var/lib/phone/avd}" "${KVM_DEVICE:=/dev/kvm}"
: "${SYSTEM_IMAGE:=system-images;android-33;google_apis;x86_64}"
: "${CONSOLE_PORT:=5554}" "${GRPC_PORT:=8554}" "${LISTEN_ADDRESS:=$(hostname -i)}"
: "${PHONE_BOOT_TIMEOUT_S:=600}" "${HOME:=/var/lib/phone}"
adb_port=$((CONSOLE_PORT + 1))
inner_grpc_port=$((GRPC_PORT - 1))
avd=$ANDROID_AVD_HOME/phone.avd
ready=/tmp/phone-ready
export ANDROID_HOME ANDROID_AVD_HOME CONSOLE_PORT HOME PATH=$ANDROID_HOME/emulator:$ANDROID_HOME/platform-tools:$PATH
# An adb server of our own, for the boot alone: the service's will talk to the phone.
export ANDROID_ADB_SERVER_PORT=$((CONSOLE_PORT + 2000))

# shellcheck source=console.sh
source ./console.sh

die() {
  echo "error: $*" >&2
  exit 1
}

require() {
  [ -e "$KVM_DEVICE" ] || die "$KVM_DEVICE is missing: start the container with --device /dev/kvm on a host with KVM"
  [ -r "$KVM_DEVICE" ] && [ -w "$KVM_DEVICE" ] ||
    die "$KVM_DEVICE may not be used by uid $(id -u): add --group-add $(stat -c %g "$KVM_DEVICE")"
  command -v emulator >/dev/null || die "no emulator in $ANDROID_HOME/emulator"
  local free_mb
  free_mb=$(df -Pm "$(dirname "$ANDROID_AVD_HOME")" | awk 'NR == 2 {print $4}')
  [ "$free_mb" -ge "${PHONE_DISK_MB:-6000}" ] ||
    die "$free_mb MB of disk are free for the phone, ${PHONE_DISK_MB:-6000} are needed"
}

make_avd() {
  mkdir -p "$avd"
  : >"$HOME/.emulator_console_auth_token" # empty: the console is reachable by the service alone, and asks for no token
  cat >"$ANDROID_AVD_HOME/phone.ini" <<INI
avd.ini.encoding=UTF-8
path=$avd
target=$(cut -d ';' -f 2 <<<"$SYSTEM_IMAGE")
INI
  cat >"$avd/config.ini" <<INI
AvdId=phone
PlayStore.enabled=false
abi.type=$(cut -d ';' -f 4 <<<"$SYSTEM_IMAGE")
avd.ini.encoding=UTF-8
disk.dataPartition.size=6G
hw.accelerometer=yes
hw.audioInput=no
hw.camera.back=none
hw.camera.front=none
hw.cpu.arch=$(cut -d ';' -f 4 <<<"$SYSTEM_IMAGE")
hw.cpu.ncore=${PHONE_CORES:-2}
hw.gpu.enabled=yes
hw.gpu.mode=swiftshader_indirect
hw.keyboard=yes
hw.lcd.density=${PHONE_DENSITY:-420}
hw.lcd.height=${PHONE_HEIGHT:-2400}
hw.lcd.width=${PHONE_WIDTH:-1080}
hw.mainKeys=no
hw.ramSize=${PHONE_MEMORY_MB:-4096}
image.sysdir.1=${SYSTEM_IMAGE//;//}/
showDeviceFrame=no
tag.id=$(cut -d ';' -f 3 <<<"$SYSTEM_IMAGE")
vm.heapSize=512
INI
}

start_emulator() {
  local -a options=(
    -avd phone -port "$CONSOLE_PORT" -grpc "$inner_grpc_port" -no-window -no-audio -no-boot-anim -no-metrics
    -gpu swiftshader_indirect -accel on -no-snapshot-save
  )
  if [ -e "$avd/golden" ]; then
    options+=(-snapshot golden)
  else
    options+=(-no-snapshot-load)
  fi
  if [ -n "${HTTP_PROXY:-}" ]; then # the way out to the hosts of the phone's list
    options+=(-http-proxy "$HTTP_PROXY")
  fi
  emulator "${options[@]}" &
  emulator_pid=$!
}

phone() {
  adb -s "127.0.0.1:$adb_port" "$@"
}

# Return when Android has booted.
await_boot() {
  local deadline=$((SECONDS + PHONE_BOOT_TIMEOUT_S))
  until adb connect "127.0.0.1:$adb_port" 2>/dev/null | grep -q '^\(already \)\?connected' &&
    [ "$(phone shell getprop sys.boot_completed 2>/dev/null | tr -d '\r')" = 1 ]; do
    kill -0 "$emulator_pid" 2>/dev/null || die "the emulator ended while it booted; its words are above"
    [ "$SECONDS" -lt "$deadline" ] || die "Android did not boot within $PHONE_BOOT_TIMEOUT_S s"
    sleep 0.5
  done
}

# What every task expects of a phone, then the state that later starts begin with.
make_golden() {
  local setting
  for setting in "global window_animation_scale 0" "global transition_animation_scale 0" \
    "global animator_duration_scale 0" "global stay_on_while_plugged_in 7" "secure show_ime_with_hard_keyboard 1" \
    "system screen_off_timeout 2147483647"; do
    phone shell settings put "$setting"
  done
  phone shell input keyevent KEYCODE_WAKEUP
  phone shell wm dismiss-keyguard
  adb kill-server # ours alone: a snapshot with an open connection would wait for it for ever
  console "avd snapshot save golden" >/dev/null || die "the golden snapshot could not be saved"
  touch "$avd/golden"
}

# forward OUTER INNER: let the container's address answer for a port of loopback; return when it does.
forward() {
  socat "TCP-LISTEN:$1,bind=$LISTEN_ADDRESS,fork,reuseaddr" "TCP:127.0.0.1:$2" &
  forwards+=("$!")
  until (exec 3<>"/dev/tcp/$LISTEN_ADDRESS/$1") 2>/dev/null; do
    kill -0 "${forwards[-1]}" 2>/dev/null || die "port $1 of $LISTEN_ADDRESS cannot be listened on"
    sleep 0.05
  done
}

# shellcheck disable=SC2329  # called by traps
stop() {
  trap - TERM INT EXIT
  rm -f "$ready"
  [ "${#forwards[@]}" -eq 0 ] || kill "${forwards[@]}" 2>/dev/null || true
  timeout 2 adb kill-server >/dev/null 2>&1 || true
  if [ -n "${emulator_pid:-}" ]; then
    CONSOLE_PATIENCE_S=2 console kill >/dev/null 2>&1 || kill "$emulator_pid" 2>/dev/null || true
    for _ in {1..40}; do # an emulator that promises to end may hang all the same
      kill -0 "$emulator_pid" 2>/dev/null || return 0
      sleep 0.1
    done
    kill -KILL "$emulator_pid" 2>/dev/null || true
    wait "$emulator_pid" 2>/dev/null || true
  fi
}

forwards=()
rm -f "$ready"
require
[ -e "$avd/config.ini" ] || make_avd
trap 'stop; exit 143' TERM INT
trap stop EXIT
start_emulator
await_boot
[ -e "$avd/golden" ] || make_golden
adb kill-server >/dev/null 2>&1 || true
forward "$CONSOLE_PORT" "$CONSOLE_PORT"
forward "$adb_port" "$adb_port"
forward "$GRPC_PORT" "$inner_grpc_port"
touch "$ready"
echo "phone ready after $SECONDS s on $LISTEN_ADDRESS: console $CONSOLE_PORT, adb $adb_port, gRPC $GRPC_PORT"
status=0
wait "$emulator_pid" || status=$?
echo "the emulator ended with code $status" >&2
exit 1
