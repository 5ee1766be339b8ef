#!/bin/bash
# Exit code 0 when the phone is ready and its console answers.
set -euo pipefail
cd "$(dirname "$0")"
: "${CONSOLE_PORT:=5554}"
# shellcheck source=console.sh
source ./console.sh

[ -e /tmp/phone-ready ]
CONSOLE_PATIENCE_S=3 console "avd status" | grep -q running
