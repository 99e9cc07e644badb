#!/usr/bin/env bash
# Prometheus and promtool for tests.
#   bash test/support/prometheus.sh find      prints the folder that has both; fails where there is none
#   bash test/support/prometheus.sh install   the same, and fetches them first where there is none
# Unpacks Debian's package into the user's cache: nothing is installed, and no service is started.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/cross-border-payments

find_binaries() {
  if command -v prometheus promtool > /dev/null; then dirname "$(command -v promtool)"; return; fi
  [ -x "$cache/prometheus/usr/bin/promtool" ] && echo "$cache/prometheus/usr/bin"
}

# As any user: apt's lists may be missing, and then are kept in the cache as well.
download_package() {
  apt-get download prometheus && return
  mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial"
  local options=(-o "Dir::State::Lists=$cache/apt/lists" -o "Dir::Cache=$cache/apt")
  apt-get "${options[@]}" update && apt-get "${options[@]}" download prometheus
}

# Atomic: several runs may want the first copy at once.
unpack() {
  command -v apt-get > /dev/null && command -v dpkg > /dev/null || { echo "no Prometheus here: install one" >&2; return 1; }
  local scratch
  mkdir -p "$cache"
  scratch=$(mktemp -d "$cache/download.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  (cd "$scratch" && download_package) >&2
  dpkg -x "$scratch"/prometheus_*.deb "$scratch/prometheus"
  mv -T "$scratch/prometheus" "$cache/prometheus" 2> /dev/null || [ -d "$cache/prometheus" ]
  rm -rf "$scratch"
  trap - EXIT
}

case ${1:-} in
  find) find_binaries ;;
  install) find_binaries || { (unpack) && find_binaries; } ;;
  *)
    sed -n '2,5p' "$0" >&2
    exit 2
    ;;
esac
