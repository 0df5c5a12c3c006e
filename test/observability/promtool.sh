#!/usr/bin/env bash
# Checks the alert rules and the queries of the dashboard with promtool, the tool of Prometheus, and runs the tests of
# the alerts. Uses the installed promtool. If promtool is not installed, downloads Debian's package (19 MB) once,
# without installing it.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cluster-api-provider-aws-fargate/promtool
promtool=$(command -v promtool || echo "$cache/usr/bin/promtool")
if [ ! -x "$promtool" ]; then
  command -v apt-get >/dev/null || { echo 'promtool is missing. Install Prometheus: https://prometheus.io/download' >&2; exit 1; }
  temporary=$(mktemp -d)
  trap 'rm -rf "$temporary"' EXIT
  cd "$temporary"
  download() { apt-get download --quiet=2 -o APT::Sandbox::User=root prometheus; }
  # The download fails in a fresh container, which has no package lists. Only root can update the package lists.
  download 2>/dev/null || { apt-get update --quiet=2 && download; }
  dpkg-deb --extract prometheus_*.deb extracted
  mkdir -p "$(dirname "$cache")"
  rm -rf "$cache"
  mv "$temporary/extracted" "$cache"
fi
mkdir -p "$root/.tmp"
node "$root/test/observability/dashboard-rules.ts" >"$root/.tmp/dashboard-rules.yaml"
"$promtool" check rules "$root/config/observability/alerts.yaml" "$root/.tmp/dashboard-rules.yaml"
"$promtool" test rules "$root/test/observability/alerts.test.yaml"
