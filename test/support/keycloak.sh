#!/usr/bin/env bash
# A Keycloak of its own for tests, on loopback and thrown away afterwards.
#   bash test/support/keycloak.sh with COMMAND...   runs the command with CBP_KEYCLOAK_* set, then stops the server
#   bash test/support/keycloak.sh start FOLDER      starts one; FOLDER must not exist yet, and FOLDER/env then has CBP_KEYCLOAK_*
#   bash test/support/keycloak.sh stop FOLDER       stops it and removes the folder
# Keycloak comes through Maven and is kept in the user's cache. Installs Debian's Java and Maven where there are none, if it may.
set -euo pipefail
support=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

version=26.7.3
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cross-border-payments

has_java() {
  local major
  major=$("${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>&1 | sed -n 's/^[^"]*"\([0-9]*\).*/\1/p' | head -n 1)
  [ "${major:-0}" -ge 17 ]
}

install_packages() {
  [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || { echo "not here, install it: $*" >&2; return 1; }
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } >&2
}

# Atomic: several runs may want the first copy at once.
download() {
  [ ! -d "$cache/keycloak-$version" ] || return 0
  command -v mvn > /dev/null || install_packages maven
  local scratch
  mkdir -p "$cache"
  scratch=$(mktemp -d "$cache/download.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
    "-Dartifact=org.keycloak:keycloak-quarkus-dist:$version:tar.gz" "-DoutputDirectory=$scratch" >&2
  tar -xzf "$scratch/keycloak-quarkus-dist-$version.tar.gz" -C "$scratch"
  mv -T "$scratch/keycloak-$version" "$cache/keycloak-$version" 2> /dev/null || [ -d "$cache/keycloak-$version" ]
  rm -rf "$scratch"
  trap - EXIT
}

start() {
  local folder=$1 port
  has_java || install_packages openjdk-17-jre-headless
  (download)
  mkdir "$folder"
  chmod 700 "$folder"
  # The server writes into its own folder.
  cp -r "$cache/keycloak-$version" "$folder/keycloak"
  port=$(node "$support/free-port.mjs")
  cat > "$folder/env" << END
CBP_KEYCLOAK_URL=http://127.0.0.1:$port
CBP_KEYCLOAK_ADMIN_PASSWORD=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
END
  (
    . "$folder/env"
    export KC_BOOTSTRAP_ADMIN_USERNAME=admin KC_BOOTSTRAP_ADMIN_PASSWORD=$CBP_KEYCLOAK_ADMIN_PASSWORD
    # It starts sooner without the optimising compiler.
    export JAVA_OPTS_KC_HEAP="-Xms128m -Xmx512m" JAVA_OPTS_APPEND="-XX:TieredStopAtLevel=1 -Djava.io.tmpdir=$folder/tmp"
    cd "$folder"
    mkdir tmp
    # A session of its own, so that the end of a terminal or of a test does not take it along.
    setsid bash -c 'echo $$ > pid; exec keycloak/bin/kc.sh start-dev --http-relative-path=/auth --http-host=127.0.0.1 "$@"' \
      keycloak --http-port="${CBP_KEYCLOAK_URL##*:}" > server.log 2>&1 < /dev/null &
    wait_until_ready "$CBP_KEYCLOAK_URL/auth/realms/master" || { tail -n 50 server.log >&2; exit 1; }
  )
}

wait_until_ready() {
  node --input-type=module - "$1" << 'END'
    import { existsSync, readFileSync } from "node:fs";
    const isRunning = () => { try { return process.kill(Number(readFileSync("pid", "utf8")), 0); } catch { return !existsSync("pid"); } };
    for (const end = Date.now() + 1_200_000; Date.now() < end && isRunning(); ) {
      // Keycloak itself, and not whoever else listens there.
      const realm = await fetch(process.argv[2]).then((response) => response.json()).catch(() => undefined);
      if (realm?.realm === "master") process.exit(0);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    process.exit(1);
END
}

stop() {
  local folder=$1 pid
  if pid=$(cat "$folder/pid" 2> /dev/null); then
    # The whole process group: Keycloak's script mostly becomes the server, but not always.
    kill -TERM -- "-$pid" 2> /dev/null || true
    for _ in $(seq 100); do
      kill -0 -- "-$pid" 2> /dev/null || break
      sleep 0.1
    done
    kill -KILL -- "-$pid" 2> /dev/null || true
  fi
  rm -rf "$folder"
}

case ${1:-} in
  start) start "${2:?usage: keycloak.sh start FOLDER}" ;;
  stop) stop "${2:?usage: keycloak.sh stop FOLDER}" ;;
  with)
    shift
    folder=$(mktemp -d)/server
    trap 'stop "$folder"; rmdir "$(dirname "$folder")"' EXIT
    start "$folder"
    set -a
    . "$folder/env"
    set +a
    "$@"
    ;;
  *)
    sed -n '2,7p' "$0" >&2
    exit 2
    ;;
esac
