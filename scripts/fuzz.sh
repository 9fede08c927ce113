#!/usr/bin/env bash
# Runs every fuzz target of the repository for FUZZTIME, one after the other.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${FUZZTIME:-10s}
status=0 count=0
while IFS=: read -r file line; do
  target=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*).*/\1/' <<<"$line")
  echo "== $(dirname "$file") $target"
  count=$((count + 1))
  go test "./$(dirname "$file")" -run '^$' -fuzz "^$target\$" -fuzztime "$time" || status=1
done < <(git ls-files '*_test.go' | xargs -r grep -HE '^func Fuzz[A-Za-z0-9_]*\(' /dev/null)
echo "$count fuzz targets run"
exit $status
