#!/usr/bin/env bash
# Makes an executable of capaf for each architecture, which contains Node.js: hack/release/executables.sh BUILD OUT VERSION
# BUILD has capaf.cjs and the licence notices of hack/build.ts. OUT gets one archive for each architecture. kubectl calls
# a program of this name for `kubectl fargate`. The same sources give the same bytes.
set -euo pipefail
umask 022
build=$(realpath "$1") out=$(realpath "$2") version=$3
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cluster-api-provider-aws-fargate/image
mkdir -p "$cache"
. hack/fetch-node.sh

# Code cache and snapshot depend on the architecture. https://nodejs.org/api/single-executable-applications.html
settings='"disableExperimentalSEAWarning":true,"useSnapshot":false,"useCodeCache":false'
printf '{"main":"capaf.cjs","output":"%s",%s}' "$work/blob" "$settings" >"$work/sea.json"
(cd "$build" && node --experimental-sea-config "$work/sea.json")

cp LICENSE "$build/THIRD-PARTY-NOTICES.txt" "$work"
for architecture in amd64 arm64; do
  fetch_node "${architecture/amd64/x64}"
  tar --extract --gzip --file "$archive" --to-stdout package/bin/node >"$work/kubectl-fargate"
  tar --extract --gzip --file "$archive" --to-stdout package/LICENSE >"$work/NODE-LICENSE.txt"
  chmod 755 "$work/kubectl-fargate"
  # The warnings are about sections that Node.js does not have: https://github.com/nodejs/postject/issues/83
  node_modules/.bin/postject "$work/kubectl-fargate" NODE_SEA_BLOB "$work/blob" \
    --sentinel-fuse NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2 >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --directory "$work" \
    kubectl-fargate LICENSE NODE-LICENSE.txt THIRD-PARTY-NOTICES.txt |
    gzip --no-name >"$out/kubectl-fargate_${version}_linux_$architecture.tar.gz"
done
