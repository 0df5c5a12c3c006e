# Runs the command of an unpacked image as a container runtime does: on a read-only root, as user 65532, without
# capabilities, as the first process of its own namespaces.
# Usage: unshare … sh run.sh ROOT VARIABLE=VALUE… -- COMMAND ARGUMENT…
set -eu
root=$1
shift
variables=
while [ "$1" != -- ]; do
  variables="$variables $1"
  shift
done
shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
# shellcheck disable=SC2086 # no value has a blank
exec setpriv --no-new-privs env -i $variables "$(command -v chroot)" --userspec=65532:65532 --groups= "$root" "$@"
