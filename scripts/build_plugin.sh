#!/usr/bin/env bash
# Builds the Obsidian plugin into vaultd/data/obsidian-plugin, from where `vaultd init --with-plugin` takes it.
# Needs Node 20 or newer and npm; the versions of all tools are those of package-lock.json, so the bytes are the same
# everywhere.
#
# usage: scripts/build_plugin.sh           build
#        scripts/build_plugin.sh --check   build apart, and fail where the committed build differs
set -euo pipefail
cd "$(dirname "$0")/.."
source=obsidian-plugin-stub
target=vaultd/data/obsidian-plugin
if [ ! -d "$source/node_modules/esbuild" ]; then npm ci --prefix "$source" --ignore-scripts --no-progress; fi
if [ "${1:-}" = --check ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  node "$source/esbuild.config.mjs" "$work"
  diff -r "$work" "$target"
  echo 'the committed build is that of the sources'
else
  node "$source/esbuild.config.mjs" "$target"
  echo "built $target"
fi
