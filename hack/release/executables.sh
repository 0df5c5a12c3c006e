#!/usr/bin/env bash
# Builds an executable of capaf that contains Node.js, for each architecture. The same sources give the same bytes.
# Usage: hack/release/executables.sh BUILD OUT VERSION
# The folder BUILD has capaf.cjs and the license notices that hack/build.ts writes. The folder OUT gets one archive for
# each architecture. The executable is called kubectl-fargate, so that kubectl runs it for `kubectl fargate`.
set -euo pipefail
umask 022
build=$(realpath "$1") out=$(realpath "$2") version=$3
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cluster-api-provider-aws-fargate/image
mkdir -p "$cache"
. hack/fetch-node.sh

# A code cache and a snapshot would depend on the architecture, so the executable contains neither:
# https://nodejs.org/api/single-executable-applications.html
settings='"disableExperimentalSEAWarning":true,"useSnapshot":false,"useCodeCache":false'
printf '{"main":"capaf.cjs","output":"%s",%s}' "$work/blob" "$settings" >"$work/sea.json"
(cd "$build" && node --experimental-sea-config "$work/sea.json")

cp LICENSE "$build/THIRD-PARTY-NOTICES.txt" "$work"
for architecture in amd64 arm64; do
  fetch_node "${architecture/amd64/x64}"
  tar --extract --gzip --file "$archive" --to-stdout package/bin/node >"$work/kubectl-fargate"
  tar --extract --gzip --file "$archive" --to-stdout package/LICENSE >"$work/NODE-LICENSE.txt"
  chmod 755 "$work/kubectl-fargate"
  # postject warns about sections that Node.js does not have, so its output appears only if it fails:
  # https://github.com/nodejs/postject/issues/83
  node_modules/.bin/postject "$work/kubectl-fargate" NODE_SEA_BLOB "$work/blob" \
    --sentinel-fuse NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2 >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --directory "$work" \
    kubectl-fargate LICENSE NODE-LICENSE.txt THIRD-PARTY-NOTICES.txt |
    gzip --no-name >"$out/kubectl-fargate_${version}_linux_$architecture.tar.gz"
done
