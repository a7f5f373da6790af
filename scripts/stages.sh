# shellcheck shell=bash
# How our scripts talk: one line per stage, everything else in a log whose end is shown when a stage fails.
# Sourced by the other scripts.

child=''  # what run_logged waits for

set -E
trap 'echo "${0##*/}: unexpected failure in line $LINENO: $BASH_COMMAND" >&2' ERR
trap 'stop_child; exit 129' HUP
trap 'stop_child; exit 130' INT
trap 'stop_child; exit 143' TERM

# Ends what run_logged started: without it, a script that is killed would leave its compilers running.
stop_child() {
  [[ -n $child ]] || return 0
  kill -TERM "$child" 2>/dev/null || true
  wait "$child" 2>/dev/null || true
}

# die MESSAGE [STATUS]
die() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit "${2:-1}"
}

# Prints a number of seconds as a person would say it.
duration() {
  if (($1 < 100)); then echo "$1 s"; else echo "$((($1 + 30) / 60)) min"; fi
}

# stage_done NAME: prints how long the script has taken since the stage before.
stage_done() {
  local seconds=$((SECONDS - ${stage_began:-0}))
  printf '      %s: %d min %02d s\n' "$1" $((seconds / 60)) $((seconds % 60))
  stage_began=$SECONDS
}

# try_logged LOG COMMAND…: appends the command's output to LOG and returns its status.
# On a terminal, ninja's progress is shown meanwhile.
try_logged() {
  local log=$1 status=0
  shift
  printf '$ %s\n' "$*" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null &
  child=$!
  if [[ -t 1 ]]; then
    while kill -0 "$child" 2>/dev/null; do
      show_progress "$log"
      sleep 0.2
    done
    printf '\r\033[K'
  fi
  wait "$child" || status=$?
  child=''
  return "$status"
}

# run_logged LOG COMMAND…: the same for what has to succeed.
run_logged() {
  local status=0
  try_logged "$@" || status=$?
  ((status == 0)) || fail_with_log "$1" "$status"
}

show_progress() {
  local line
  line=$(tail -n 1 "$1" 2>/dev/null) || true
  [[ ! $line =~ ^\[[0-9]+/[0-9]+\] ]] || printf '\r      %s\033[K' "${BASH_REMATCH[0]}"
}

# fail_with_log LOG STATUS
fail_with_log() {
  show_log "$1"
  die "failed" "$2"
}

# Shows the end of LOG: enough of it, the compiler's complaint stands some lines above ninja's last word.
show_log() {
  {
    printf '\n--- the end of the log:\n'
    tail -n 40 "$1"
    printf -- '--- the whole log: %s\n\n' "$1"
  } >&2
}
