# shellcheck shell=bash
# The emulator's console, for entrypoint.sh and health.sh. Its token file is empty, so it asks for none.

# console COMMAND: print the answer; fails when the console does, refuses, or takes longer than 10 s a line.
console() {
  { exec 3<>"/dev/tcp/127.0.0.1/$CONSOLE_PORT"; } 2>/dev/null || return 1
  local status=0
  console_answer >/dev/null && printf '%s\n' "$1" >&3 && console_answer || status=1
  exec 3>&-
  return "$status"
}

# Print the lines before OK.
console_answer() {
  local line
  while IFS= read -r -t "${CONSOLE_PATIENCE_S:-10}" -u 3 line; do
    line=${line%$'\r'}
    case $line in
      OK | OK:*) return 0 ;;
      KO*)
        echo "the console refused: ${line#KO: }" >&2
        return 1
        ;;
    esac
    printf '%s\n' "$line"
  done
  return 1
}
