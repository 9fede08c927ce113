#!/usr/bin/env bash
# Checks for the tools that a target needs and, as root on a Debian system,
# installs those that are missing. Otherwise it says what to install.
#   install-deps.sh build   go and a C compiler
#   install-deps.sh test    also psql, a PostgreSQL server, python3 with venv
#   install-deps.sh kafka   java and maven
set -euo pipefail

missing=()
need() { # need PACKAGE TEST...: the package is missing when the test fails
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing+=("$package")
}
have_postgres() { compgen -G '/usr/lib/postgresql/*/bin/initdb' || command -v initdb; }

case ${1:-} in
build)
  need gcc command -v gcc
  need libc6-dev test -e /usr/include/stdlib.h
  ;;
test)
  need git command -v git
  need postgresql-client command -v psql
  need postgresql have_postgres
  need python3-venv python3 -c 'import venv, ensurepip'
  need tzdata test -e /usr/share/zoneinfo/Europe/Berlin
  ;;
kafka)
  need default-jre-headless command -v java
  need maven command -v mvn
  ;;
*)
  echo "usage: $0 build|test|kafka" >&2
  exit 2
  ;;
esac

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null
  else
    echo "please install: ${missing[*]}" >&2
    exit 1
  fi
fi

# Go itself is not taken from the distribution, whose version is too old; the
# go command fetches the toolchain that go.mod asks for.
if ! command -v go >/dev/null; then
  echo "please install Go 1.26 or newer and put it on the PATH" >&2
  exit 1
fi
