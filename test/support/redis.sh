#!/usr/bin/env bash
# A Redis of its own for tests, on loopback and thrown away afterwards. Each write is on the disk before it is confirmed.
#   bash test/support/redis.sh with COMMAND...   runs the command with CBP_REDIS_URL set, then stops the server
#   bash test/support/redis.sh start FOLDER      prints the URL; FOLDER must not exist yet
#   bash test/support/redis.sh signal FOLDER S   sends it a signal, such as STOP, CONT or KILL
#   bash test/support/redis.sh restart FOLDER    starts it again after it was killed, on the same port, with what is on its disk
#   bash test/support/redis.sh replica FOLDER P  starts a replica of the server in P, and prints its URL
#   bash test/support/redis.sh sentinel FOLDER P starts a Sentinel that promotes a replica of the server in P, which it calls "tests", and prints its URL
#   bash test/support/redis.sh stop FOLDER       stops that server and removes the folder
# Unpacks Debian's package into the user's cache where there is no Redis: nothing is installed, and no service is started.
set -euo pipefail
support=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

cache=${XDG_CACHE_HOME:-$HOME/.cache}/cross-border-payments

# As any user: apt's lists may be missing, and then are kept in the cache as well.
download_packages() {
  local packages=(redis-tools libjemalloc2 liblzf1 libatomic1)
  apt-get download "${packages[@]}" && return
  mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial"
  local options=(-o "Dir::State::Lists=$cache/apt/lists" -o "Dir::Cache=$cache/apt")
  apt-get "${options[@]}" update && apt-get "${options[@]}" download "${packages[@]}"
}

# Atomic: several runs may want the first copy at once.
unpack_redis() {
  [ ! -d "$cache/redis" ] || return 0
  command -v apt-get > /dev/null && command -v dpkg > /dev/null || { echo "no Redis here: install one" >&2; return 1; }
  local scratch package
  mkdir -p "$cache"
  scratch=$(mktemp -d "$cache/download.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  (cd "$scratch" && download_packages) >&2
  for package in "$scratch"/*.deb; do dpkg -x "$package" "$scratch/redis"; done
  # The package of the tools has the server, under another name.
  ln -s redis-check-rdb "$scratch/redis/usr/bin/redis-server"
  mv -T "$scratch/redis" "$cache/redis" 2> /dev/null || [ -d "$cache/redis" ]
  rm -rf "$scratch"
  trap - EXIT
}

run_server() {
  if command -v redis-server > /dev/null; then exec redis-server "$@"; fi
  local libraries
  libraries=$(dirname "$(find "$cache/redis/usr/lib" -name 'libjemalloc.so.2' | head -n 1)")
  LD_LIBRARY_PATH=$libraries exec "$cache/redis/usr/bin/redis-server" "$@"
}

wait_until_ready() {
  node --input-type=module - "$@" << 'END'
    import { readFileSync } from "node:fs";
    import { connect } from "node:net";
    const [, , folder, pid] = process.argv;
    const settings = readFileSync(`${folder}/redis.conf`, "utf8");
    const [port, password] = [/^port (.*)$/m, /^requirepass (.*)$/m].map((line) => line.exec(settings)[1]);
    const isRunning = () => { try { return process.kill(Number(pid), 0); } catch { return false; } };
    const responds = () => new Promise((resolve) => {
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(`AUTH ${password}\r\nPING\r\n`));
      let text = "";
      socket.on("data", (data) => { text += data; if (text.includes("+PONG")) socket.end(); });
      socket.on("error", () => {}).on("close", () => resolve(text.includes("+PONG"))).setTimeout(1000, () => socket.destroy());
    });
    for (const end = Date.now() + 600_000; Date.now() < end && isRunning(); ) {
      if (await responds()) process.exit(0);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    process.exit(1);
END
}

# The rest of its configuration comes by the standard input.
start_with() {
  local folder=$1 password=$2 port
  mkdir "$folder"
  chmod 700 "$folder"
  port=$(node "$support/free-port.mjs")
  # In a file: arguments can be read by every user.
  cat > "$folder/redis.conf" << END
bind 127.0.0.1
port $port
requirepass $password
dir $folder
$(cat)
END
  launch "$folder" "${@:3}"
  echo "redis://:$password@127.0.0.1:$port"
}

start() {
  local folder=$1 password
  command -v redis-server > /dev/null || (unpack_redis)
  password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  settings "$password" | start_with "$folder" "$password"
}

settings() {
  cat << END
masterauth $1
repl-diskless-sync-delay 0
appendonly yes
appendfsync always
save ""
maxmemory-policy noeviction
END
}

setting_of() { sed -n "s/^$2 //p" "$1/redis.conf"; }

replica() {
  local folder=$1 password
  password=$(setting_of "$2" requirepass)
  { settings "$password"; echo "replicaof 127.0.0.1 $(setting_of "$2" port)"; } | start_with "$folder" "$password"
}

sentinel() {
  local folder=$1 password
  password=$(setting_of "$2" requirepass)
  start_with "$folder" "$password" --sentinel << END
sentinel monitor tests 127.0.0.1 $(setting_of "$2" port) 1
sentinel auth-pass tests $password
sentinel down-after-milliseconds tests 1000
sentinel failover-timeout tests 5000
END
}

launch() {
  local folder=$1
  run_server "$folder/redis.conf" "${@:2}" >> "$folder/server.log" 2>&1 < /dev/null &
  echo $! > "$folder/pid"
  wait_until_ready "$folder" "$!" || { tail -n 50 "$folder/server.log" >&2; return 1; }
}

stop() {
  local folder=$1 pid
  if pid=$(cat "$folder/pid" 2> /dev/null); then
    kill -TERM "$pid" 2> /dev/null || true
    for _ in $(seq 100); do
      kill -0 "$pid" 2> /dev/null || break
      sleep 0.1
    done
    kill -KILL "$pid" 2> /dev/null || true
  fi
  rm -rf "$folder"
}

case ${1:-} in
  start) start "${2:?usage: redis.sh start FOLDER}" ;;
  signal) kill "-${3:?usage: redis.sh signal FOLDER SIGNAL}" "$(cat "${2:?usage: redis.sh signal FOLDER SIGNAL}/pid")" ;;
  restart) launch "${2:?usage: redis.sh restart FOLDER}" ;;
  replica) replica "${2:?usage: redis.sh replica FOLDER PRIMARY}" "${3:?usage: redis.sh replica FOLDER PRIMARY}" ;;
  sentinel) sentinel "${2:?usage: redis.sh sentinel FOLDER PRIMARY}" "${3:?usage: redis.sh sentinel FOLDER PRIMARY}" ;;
  stop) stop "${2:?usage: redis.sh stop FOLDER}" ;;
  with)
    shift
    folder=$(mktemp -d)/server
    trap 'stop "$folder"; rmdir "$(dirname "$folder")"' EXIT
    CBP_REDIS_URL=$(start "$folder")
    export CBP_REDIS_URL
    "$@"
    ;;
  *)
    sed -n '2,10p' "$0" >&2
    exit 2
    ;;
esac
