# Scripts source this file. Their working directory must be the root of the repository, and $cache must be a folder.

# Usage: fetch_node CPU. Downloads the npm package of Node.js into $cache, and sets $archive to the path of the package.
fetch_node() {
  local name=node-linux-$1 locked integrity
  locked="require('./package-lock.json').packages['node_modules/$name']"
  archive=$cache/$name-$(node -p "$locked.version").tgz
  # The machine's own npm and Node.js run here, because they know the machine's settings, e.g. a proxy's certificates.
  [ -e "$archive" ] || PATH=${MACHINE_PATH:-$PATH} npm pack "$name@$(node -p "$locked.version")" --silent \
    --fetch-timeout=60000 --pack-destination "$cache"
  integrity=sha512-$(openssl dgst -sha512 -binary "$archive" | base64 --wrap=0)
  [ "$integrity" = "$(node -p "$locked.integrity")" ] && return
  echo "$archive is not the package of package-lock.json; remove it"
  return 1
}
