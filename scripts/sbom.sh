#!/usr/bin/env bash
# Writes a bill of materials (CycloneDX 1.6, JSON) of a wheel: every package that installing it brings, with version and
# licence. The scripts that the dashboard brings along are listed in vaultd/web/static/vendor/README.md; the image's own
# bill is written by its build (`sbom: true` in .github/workflows/publish.yml).
#
# usage: scripts/sbom.sh WHEEL FILE
set -euo pipefail
wheel=$(realpath "$1")
file=$(realpath --canonicalize-missing "$2")
mkdir -p "$(dirname "$file")"
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# two environments: what writes the list must not stand in it
python3 -m venv "$work/writer"
"$work/writer/bin/pip" install --quiet --disable-pip-version-check cyclonedx-bom==7.5.0
python3 -m venv --without-pip "$work/installed"
"$work/writer/bin/pip" --python "$work/installed" install --quiet --disable-pip-version-check "$wheel"
"$work/writer/bin/cyclonedx-py" environment --validate --output-reproducible --pyproject pyproject.toml \
  --output-file "$file" "$work/installed/bin/python"
echo "wrote $file"
