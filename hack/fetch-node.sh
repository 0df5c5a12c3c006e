# For scripts in the root of the repository that have a folder $cache.

# Downloads the npm package of Node.js into the cache, as $archive: fetch_node CPU
fetch_node() {
  local name=node-linux-$1 locked integrity
  locked="require('./package-lock.json').packages['node_modules/$name']"
  archive=$cache/$name-$(node -p "$locked.version").tgz
  # The machine's own npm and Node.js have its settings, such as the certificates of a proxy.
  [ -e "$archive" ] || PATH=${MACHINE_PATH:-$PATH} npm pack "$name@$(node -p "$locked.version")" --silent \
    --fetch-timeout=60000 --pack-destination "$cache"
  integrity=sha512-$(openssl dgst -sha512 -binary "$archive" | base64 --wrap=0)
  [ "$integrity" = "$(node -p "$locked.integrity")" ] && return
  echo "$archive is not the package of package-lock.json; remove it"
  return 1
}
