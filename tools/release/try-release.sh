#!/usr/bin/env bash
# A release as the tag's workflow makes it, in a copy of this repository, without publishing anything. Needs `npm run build`.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

# npm names the root of an SBOM after its folder.
git clone --quiet --no-hardlinks . "$temporary/cross-border-payments"
cd "$temporary/cross-border-payments"
# Nothing writes into these files: on one disk, they need no copies.
cp -al "$root/node_modules" "$root/dist" . 2> /dev/null || cp -a "$root/node_modules" "$root/dist" .
git config user.name nobody
git config user.email nobody@users.noreply.example
# In a release's own commit nothing is unreleased: it is tried as it is.
unreleased=$(sed --quiet '/^## Unreleased$/,/^## [0-9]/p' CHANGELOG.md)
if grep --quiet '^[-*] ' <<< "$unreleased"; then
  echo >> CHANGELOG.md
  if npm run --silent release -- minor 2> /dev/null; then
    echo "release took a tree with changes" >&2
    exit 1
  fi
  git checkout --quiet CHANGELOG.md
  npm run --silent release -- minor
  git commit --quiet --all --message "Release $(node --print 'require("./package.json").version')"
fi
version=$(node --print 'require("./package.json").version')
git tag --force "v$version" > /dev/null
mkdir release
npm pack --ignore-scripts --pack-destination release --silent
npm sbom --sbom-format cyclonedx --sbom-type library --omit dev > release/sbom.cdx.json
npx tsx tools/release/api-difference.ts > release/api.diff
npx tsx tools/release/release-notes.ts "$version" > release/notes.md
npm publish "./release/cross-border-payments-$version.tgz" --dry-run --ignore-scripts --access public 2>&1 | tail -n 25
node --eval '
  const { metadata, components } = JSON.parse(require("fs").readFileSync("release/sbom.cdx.json", "utf8"));
  console.log(`SBOM: ${metadata.component.name} ${metadata.component.version} with ${components.length} packages`);
'
wc -l release/api.diff release/notes.md
