#!/bin/bash
# Installs the client beside this folder and runs `benchsite builds`, for the action and the GitLab template.
# PLAN, BUILDS, COMMENT and STRICT say what; each line of BUILDS is one build.
set -euo pipefail
client=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -I -m venv "$folder" # Isolated: no file of the checkout stands for a module of Python.
"$folder/bin/pip" install --quiet --disable-pip-version-check "$client"
set -f # Words of a line are no patterns of files.
options=()
while read -r line; do
  if [ -n "$line" ]; then
    # shellcheck disable=SC2206 # One word for each KEY=VALUE.
    options+=(--build $line)
  fi
done <<<"$BUILDS"
if [ "${COMMENT:-}" = true ]; then options+=(--comment); fi
if [ "${STRICT:-}" = true ]; then options+=(--strict); fi
"$folder/bin/benchsite" builds "$PLAN" --without-token=skip "${options[@]}"
