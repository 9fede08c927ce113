#!/usr/bin/env bash
# Reads single rows by key with pgbench -S: StreamDB and the installed PostgreSQL
# in turn, ROUNDS times each protocol, on new data directories.
#   bench-point.sh BIN      with CLIENTS=4 SECONDS_EACH=5 ROUNDS=3 ROWS=100000 MODES="simple prepared"
# Prints transactions per second, and the CPU time of the server's processes per
# transaction, which says more while other things run on the machine.
set -euo pipefail
bin=$(realpath "$1")
clients=${CLIENTS:-4} each=${SECONDS_EACH:-5} rounds=${ROUNDS:-3} rows=${ROWS:-100000} modes=${MODES:-simple prepared}

pgbin=$(dirname "$(compgen -G '/usr/lib/postgresql/*/bin/pgbench' | tail -1 || command -v pgbench)")
[ -x "$pgbin/initdb" ] || { echo "needs PostgreSQL with pgbench" >&2; exit 1; }
dir=$(mktemp -d /tmp/streamdb-point-XXXXXX)
as=()
if [ "$(id -u)" = 0 ]; then # PostgreSQL refuses to run as root
  as=(runuser -u nobody --)
  chown nobody "$dir"
fi
server=''
stop() {
  [ -z "$server" ] || kill "$server" || true
  "${as[@]}" "$pgbin/pg_ctl" -D "$dir/pg" -m immediate -s stop >/dev/null 2>&1 || true
  wait
  rm -rf "$dir"
}
trap stop EXIT

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
pgport=$(free_port) port=$(free_port)
cd "$dir"
"${as[@]}" "$pgbin/initdb" -D "$dir/pg" -A trust -U streamdb -E UTF8 --locale=C -N >/dev/null
"${as[@]}" "$pgbin/pg_ctl" -D "$dir/pg" -l "$dir/pg.log" -s -w start \
  -o "-p $pgport -c listen_addresses=127.0.0.1 -c unix_socket_directories=$dir"
mkdir "$dir/own"
"$bin" serve --data "$dir/own/data" --listen "127.0.0.1:$port" >"$dir/own/log" 2>&1 &
server=$!
for _ in $(seq 100); do
  grep -q '^ready' "$dir/own/log" && break
  sleep 0.1
done

load() { # load PORT DATABASE
  psql -q -X -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$1" -U streamdb "$2" \
    -c "CREATE TABLE pgbench_branches (bid int PRIMARY KEY, bbalance int, filler char(88))" \
    -c "INSERT INTO pgbench_branches VALUES (1, 0, '')" \
    -c "CREATE TABLE pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler char(84))" \
    -c "INSERT INTO pgbench_accounts SELECT i, 1, 0, '' FROM generate_series(1, $rows) i"
}
load "$port" streamdb
load "$pgport" postgres
psql -q -X -h 127.0.0.1 -p "$pgport" -U streamdb postgres -c "VACUUM ANALYZE"

# Ticks used by a process and the children it has waited for.
ticks() { awk '{print $14 + $15 + $16 + $17}' "/proc/$1/stat"; }
run() { # run NAME PID PORT DATABASE MODE
  local before after out n tps
  before=$(ticks "$2")
  out=$("$pgbin/pgbench" -n -S -s $(((rows + 99999) / 100000)) -M "$5" -c "$clients" -j 2 -T "$each" -h 127.0.0.1 -p "$3" -U streamdb "$4" 2>&1)
  sleep 0.3 # until PostgreSQL's backends have ended and count
  after=$(ticks "$2")
  n=$(sed -n 's/^number of transactions actually processed: //p' <<<"$out")
  tps=$(sed -n 's/^tps = \([0-9]*\).*/\1/p' <<<"$out")
  printf '%-10s %-12s %8d transactions/s %8.2f CPU µs each\n' "$5" "$1" "$tps" \
    "$(awk -v t=$((after - before)) -v n="$n" -v hz="$(getconf CLK_TCK)" 'BEGIN {print t * 1e6 / hz / n}')"
}
postmaster=$(head -1 "$dir/pg/postmaster.pid")
for mode in $modes; do
  for _ in $(seq "$rounds"); do
    run StreamDB "$server" "$port" streamdb "$mode"
    run PostgreSQL "$postmaster" "$pgport" postgres "$mode"
  done
done
