#!/usr/bin/env bash
# Fetches the browser libraries of the dashboard from npm, each at a fixed version, and checks what came.
#
# usage: scripts/vendor.sh          fetch into vaultd/web/static/vendor, check against SHA256SUMS
#        scripts/vendor.sh --lock   fetch, then write SHA256SUMS anew (after a change of version)
set -euo pipefail
cd "$(dirname "$0")/.."
target=vaultd/web/static/vendor
tests=tests/e2e/vendor
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# take PACKAGE VERSION FILE-IN-PACKAGE FOLDER NAME: one file, and the licence beside it
take() {
  local archive="$work/${1//\//-}-$2.tgz" folder="$work/${1//\//-}-$2"
  if [ ! -d "$folder" ]; then
    (cd "$work" && npm pack --silent "$1@$2" >/dev/null && mv ./*-"$2".tgz "$archive.new" && mv "$archive.new" "$archive.done")
    mkdir "$folder" && tar -xzf "$archive.done" -C "$folder"
    rm "$archive.done"
  fi
  mkdir -p "$4"
  install -m 644 "$folder/package/$3" "$4/$5"
  install -m 644 "$folder/package/LICENSE" "$4/$1.LICENSE"
}

take markdown-it 15.0.3 dist/browser/markdown-it.esm.min.mjs "$target" markdown-it.js
take dompurify 3.5.0 dist/purify.es.mjs "$target" purify.js
take d3-dispatch 3.0.1 dist/d3-dispatch.min.js "$target" d3-dispatch.js
take d3-quadtree 3.0.1 dist/d3-quadtree.min.js "$target" d3-quadtree.js
take d3-timer 3.0.1 dist/d3-timer.min.js "$target" d3-timer.js
take d3-force 3.0.1 dist/d3-force.min.js "$target" d3-force.js
take axe-core 4.14.1 axe.min.js "$tests" axe.js

# maps are not shipped, and a browser would ask for them
sed -i '/^\/\/# sourceMappingURL=/d' "$target"/*.js

files=$(ls "$target"/*.js "$tests"/*.js)
if [ "${1:-}" = --lock ]; then
  sha256sum $files >"$target/SHA256SUMS"
  echo "wrote $target/SHA256SUMS"
else
  sha256sum --check --quiet "$target/SHA256SUMS"
  echo 'all files are as recorded'
fi
