#!/usr/bin/env bash
# Runs the tests of contract and journals, the examples and the demo on another Node, against the packed tarball, in a fresh folder:
#   bash test/runtime/run-on-node.sh 24                  with the first examples
#   bash test/runtime/run-on-node.sh 20.19.0 every-example
# npm runs on that Node too, so it installs the newest undici that this Node supports.
set -euo pipefail
version=${1:?usage: run-on-node.sh VERSION [every-example]}
root=$(cd "$(dirname "$0")/../.." && pwd)
[ -e "$root/dist/index.js" ] || (cd "$root" && npm run build)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/node" "$folder/project"
PATH=$(bash "$root/test/runtime/install-node.sh" "$version" "$folder/node"):$PATH

(cd "$root" && npm pack --silent --ignore-scripts --pack-destination "$folder")
cd "$folder/project"
cp -r "$root/examples" .
# Back ends with packages of their own.
rm -r examples/bank examples/engines examples/frameworks
mkdir -p test/wire test/support && cp -r "$root/test/contract" "$root/test/journals" "$root/test/examples.test.ts" test/
cp "$root/test/wire/closed-port.ts" test/wire/
cp "$root/test/support/corridor.ts" "$root/test/support/error-of.ts" "$root/test/support/eventually.ts" test/support/
cp "$root/test/support/key-pairs.ts" "$root/test/support/patience.ts" "$root/test/support/thorough.ts" test/support/
# There the loader of sources runs the examples.
printf 'export const program = (source: string) => ["--import", "tsx", source];\n' > test/support/program.ts
# They share processes, as in the repository, and most of them wait.
cat > vitest.config.ts <<'CONFIG'
import { patienceMs } from "./test/support/patience.ts";

const expect = { poll: { timeout: patienceMs } };
export default { test: { include: ["test/**/*.test.ts"], testTimeout: 600_000, hookTimeout: 600_000, expect, isolate: false, maxWorkers: 4 } };
CONFIG
node - "$root/package.json" <<'SCRIPT'
const { readFileSync, writeFileSync } = require("node:fs");
const { devDependencies, overrides } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const wanted = ["fast-check", "fastify", "ioredis", "msw", "pg", "tsx", "vite", "vitest"].map((name) => [name, devDependencies[name]]);
const project = { name: "a-gateway", private: true, type: "module", devDependencies: Object.fromEntries(wanted), overrides };
writeFileSync("package.json", JSON.stringify(project));
SCRIPT
npm install --no-audit --no-fund --ignore-scripts --silent "$folder"/*.tgz
printf 'Node %s, undici %s\n' "$(node --version)" "$(node --print 'require("undici/package.json").version')"
# The CLI, which reads the journals of earlier releases, is tested where it is built.
npx vitest run --exclude test/examples.test.ts --exclude test/journals/releases.test.ts
[[ ${2:-} != every-example ]] || export CBP_THOROUGH=1
npx vitest run test/examples.test.ts
npx tsx examples/demo/demo.ts | tail -n 2
