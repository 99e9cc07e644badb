#!/usr/bin/env bash
# Prints where Chromium is. Installs Debian's package where there is none, if it may.
set -euo pipefail

find_chromium() {
  command -v chromium || command -v chromium-browser || command -v google-chrome || true
}

install_chromium() {
  [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || { echo "no Chromium here: install one" >&2; return 1; }
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium; } >&2
}

binary=$(find_chromium)
[ -n "$binary" ] || { install_chromium && binary=$(find_chromium); }
echo "$binary"
