#!/usr/bin/env bash
# A PostgreSQL of its own for tests, thrown away afterwards. Flushing to the disk stays on, as in production.
#   bash test/support/postgres.sh with COMMAND...   runs the command with CBP_POSTGRES_URL set, then stops the server
#   bash test/support/postgres.sh start FOLDER      prints the URL; FOLDER must not exist yet
#   bash test/support/postgres.sh signal FOLDER S   sends a signal to it: STOP and CONT to all of its processes, QUIT to shut down at once
#   bash test/support/postgres.sh restart FOLDER    starts it again after that, on the same port, with what is on its disk
#   bash test/support/postgres.sh stop FOLDER       stops that server and removes the folder
# Installs Debian's package where there is no PostgreSQL, if it may.
set -euo pipefail
support=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

find_binaries() {
  local folder
  for folder in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV) "$(dirname "$(command -v initdb || echo /none/none)")"; do
    if [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ]; then
      echo "$folder"
      return
    fi
  done
}

install_postgres() {
  [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || { echo "no PostgreSQL here: install one" >&2; return 1; }
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql; } >&2
}

# The server refuses to run as root.
as_owner() {
  if [ "$(id -u)" = 0 ]; then (cd / && setpriv --reuid=postgres --regid=postgres --init-groups -- "$@"); else "$@"; fi
}

make_folder() {
  local folder=$1
  mkdir "$folder"
  chmod 700 "$folder"
  if [ "$(id -u)" = 0 ]; then
    id postgres > /dev/null 2>&1 || useradd --system --no-create-home --shell /usr/sbin/nologin postgres
    chown postgres: "$folder"
  fi
}

configure() {
  local folder=$1 port=$2
  as_owner tee -a "$folder/data/postgresql.conf" > /dev/null << END
port = $port
listen_addresses = '127.0.0.1'
unix_socket_directories = '$folder'
max_connections = 200
END
}

start() {
  local folder=$1 binaries port password
  binaries=$(find_binaries)
  [ -n "$binaries" ] || { install_postgres && binaries=$(find_binaries); }
  make_folder "$folder"
  password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  printf '%s\n' "$password" | as_owner tee "$folder/password" > /dev/null
  as_owner "$binaries/initdb" --pgdata="$folder/data" --username=tests --pwfile="$folder/password" --auth=scram-sha-256 \
    --encoding=UTF8 --locale=C > "$folder/initdb.log" 2>&1 || { cat "$folder/initdb.log" >&2; return 1; }
  port=$(node "$support/free-port.mjs")
  configure "$folder" "$port"
  launch "$folder"
  echo "postgresql://tests:$password@127.0.0.1:$port/postgres"
}

launch() {
  local folder=$1
  as_owner "$(find_binaries)/pg_ctl" start --pgdata="$folder/data" --log="$folder/server.log" --timeout=600 -w > /dev/null ||
    { cat "$folder/server.log" >&2; return 1; }
}

send_signal() {
  local folder=$1 signal=$2 pid
  pid=$(head -n 1 "$folder/data/postmaster.pid")
  case $signal in
    STOP) kill -STOP "$pid" $(cat "/proc/$pid/task/$pid/children") ;;
    CONT) kill -CONT "$pid" $(cat "/proc/$pid/task/$pid/children") ;;
    *) kill "-$signal" "$pid" ;;
  esac
}

stop() {
  local folder=$1 pid
  if pid=$(head -n 1 "$folder/data/postmaster.pid" 2>/dev/null); then
    kill -INT "$pid" 2>/dev/null || true
    for _ in $(seq 100); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    # A server that was made to stand still hears nothing else.
    kill -KILL "$pid" 2>/dev/null || true
  fi
  rm -rf "$folder"
}

case ${1:-} in
  start) start "${2:?usage: postgres.sh start FOLDER}" ;;
  signal) send_signal "${2:?usage: postgres.sh signal FOLDER SIGNAL}" "${3:?usage: postgres.sh signal FOLDER SIGNAL}" ;;
  restart) launch "${2:?usage: postgres.sh restart FOLDER}" ;;
  stop) stop "${2:?usage: postgres.sh stop FOLDER}" ;;
  with)
    shift
    # A folder directly under /tmp: the path of the server's socket must stay short, and the server's user must reach it.
    folder=/tmp/cbp-postgres-$$
    trap 'stop "$folder"' EXIT
    CBP_POSTGRES_URL=$(start "$folder")
    export CBP_POSTGRES_URL
    "$@"
    ;;
  *)
    sed -n '2,8p' "$0" >&2
    exit 2
    ;;
esac
