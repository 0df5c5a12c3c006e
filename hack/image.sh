#!/usr/bin/env bash
# Builds the image of the manager for amd64 and arm64 as an OCI archive: hack/image.sh REPOSITORY FILE [VERSION]
# Prints the name of the image and the digest of its index. buildah builds the image from the Containerfile, the Debian
# packages in hack/debian-packages.sha256, and the Node.js that package-lock.json pins and the tests use. The build
# executes no program of the image, so every machine can build the image for every architecture.
set -euo pipefail
umask 022
repository=$1 file=$(realpath --canonicalize-missing "$2") version=${3:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec 3>&1 1>&2 # Only the last line of this script goes to stdout.
work=$(mktemp --directory)
# In buildah's layers, some folders are read-only even for their owner, so they must become writable first.
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
context=$work/context
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cluster-api-provider-aws-fargate/image
mkdir -p "$cache" "$(dirname "$file")"

if ! command -v buildah >/dev/null; then
  [ "$(id -u)" = 0 ] || { echo 'buildah is missing. Install it, for example with: apt-get install buildah'; exit 1; }
  install_buildah() { apt-get install --quiet=2 --yes --no-install-recommends buildah; }
  # The installation fails in a fresh container, which has no package lists.
  install_buildah || { apt-get update --quiet=2 && install_buildah; }
fi

# Usage: fetch_debian PATH SHA256. Downloads a Debian package into the cache. An archive removes a version of a package
# when a newer version replaces it. So a build of an older commit needs a DEBIAN_ARCHIVE that keeps all versions.
archives=${DEBIAN_ARCHIVE:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | sort --unique)}
fetch_debian() {
  sha256sum --check --status <<<"$2  $cache/${1##*/}" 2>/dev/null && return
  for archive in $archives; do
    /usr/lib/apt/apt-helper -qq -o APT::Sandbox::User=root \
      download-file "$archive/$1" "$cache/${1##*/}" "SHA256:$2" && return
  done
  echo "no Debian archive has $1; set DEBIAN_ARCHIVE to the address of one that keeps all versions"
  return 1
}

. hack/fetch-node.sh

for architecture in amd64 arm64; do
  root=$context/$architecture
  mkdir -p "$root/var/lib/dpkg/status.d"
  while read -r sha256 path; do
    fetch_debian "$path" "$sha256"
    package=$cache/${path##*/}
    dpkg-deb --extract "$package" "$root"
    # Image scanners look here for the installed packages, as in distroless images.
    dpkg-deb --field "$package" >"$root/var/lib/dpkg/status.d/$(dpkg-deb --field "$package" Package)"
  done < <(grep "_$architecture\.deb$" hack/debian-packages.sha256)
  # Deletes all files except libraries, and except files about the Debian release, its packages, and their licenses.
  (cd "$root" && find . -regextype posix-extended ! -type d ! -regex '\./(usr/lib(64)?/([^/]+/)?[^/]+\.so[.0-9]*|'\
'usr/lib/os-release|etc/(os-release|debian_version)|usr/share/common-licenses/.*|usr/share/doc/[^/]+(/copyright)?|'\
'var/lib/dpkg/status\.d/.*)' -delete && find . -type d -empty -delete)
  # A container runtime mounts file systems on some of these folders, and cannot create them in a read-only root. The
  # links are necessary because a program contains the path of its loader, which is in /lib or /lib64.
  mkdir -p "$root"/{dev,proc,sys,tmp,run,var,usr/bin,usr/lib64,usr/share/doc/nodejs}
  ln -s usr/lib usr/lib64 "$root"
  printf 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/nonexistent:/sbin/nologin\n' >"$root/etc/passwd"
  printf 'root:x:0:\nnonroot:x:65532:\n' >"$root/etc/group"
  echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
  fetch_node "${architecture/amd64/x64}"
  tar --extract --gzip --file "$archive" --to-stdout package/bin/node >"$root/usr/bin/node"
  tar --extract --gzip --file "$archive" --to-stdout package/LICENSE >"$root/usr/share/doc/nodejs/copyright"
  chmod 755 "$root/usr/bin/node"
done

node hack/build.ts --out "$work/build" ${version:+--version "$version"}
version=$(node "$work/build/manager.mjs" --version)
install -D --mode 644 --target-directory "$context/manager" "$work/build/manager.mjs" "$work/build/capaf.mjs"
install -D --mode 644 --target-directory "$context/manager/usr/share/doc/cluster-api-provider-aws-fargate" \
  LICENSE "$work/build/THIRD-PARTY-NOTICES.txt"

# The version of a development build contains a "+", which an image tag cannot contain.
image=$repository:${version/+/-}
buildah() { command buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
# Each platform is a separate build: one build of both platforms would put them into the index in a random order.
for architecture in amd64 arm64; do
  buildah build --isolation chroot --platform "linux/$architecture" --manifest image --layers --no-cache --timestamp 0 \
    --format oci --identity-label=false --label "org.opencontainers.image.version=$version" --quiet \
    --file Containerfile "$context"
done
buildah manifest push --all --format oci --quiet --digestfile "$work/digest" image "oci:$work/layout:$image"
tar --create --file "$file" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --directory "$work/layout" \
  blobs index.json oci-layout
echo "$image $(cat "$work/digest")" >&3
