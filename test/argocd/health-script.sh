#!/usr/bin/env bash
# Runs Argo CD's own test of health scripts on the health script of AWSFargateProfiles. Needs Go, which downloads Argo
# CD and builds the test. The first run takes eight minutes on two processors, and each later run half a minute.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
version=v3.6.1
# The go.mod of Argo CD replaces gitops-engine with a folder of its repository, which a downloaded Go module lacks. The
# script uses the release of gitops-engine that has the same version.
engine=github.com/argoproj/argo-cd/gitops-engine/v3
directory=${XDG_CACHE_HOME:-$HOME/.cache}/cluster-api-provider-aws-fargate/argo-cd-$version
# Argo CD requires this version of Go. An older Go downloads it.
export GOTOOLCHAIN=go1.27.0 GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0

if [ ! -e "$directory/.complete" ]; then
  module=$(go mod download -json "github.com/argoproj/argo-cd/v3@$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  rm -rf "$directory"
  mkdir -p "$(dirname "$directory")"
  cp -r "$module" "$directory"
  chmod -R u+w "$directory"
  cd "$directory"
  go mod edit -dropreplace "$engine"
  go mod edit -require "$engine@$version"
  touch .complete
fi

cd "$directory"
kind=resource_customizations/infrastructure.cluster.x-k8s.io/AWSFargateProfile
rm -rf "$kind"
mkdir -p "$(dirname "$kind")"
cp -r "$root/config/argocd/$kind" "$kind"
go test ./util/lua -run TestLuaHealthScript -v >"$directory/output" || { tail -n 50 "$directory/output"; exit 1; }
passed=$(grep -c -- '--- PASS: TestLuaHealthScript/infrastructure.cluster.x-k8s.io/AWSFargateProfile/' "$directory/output" || true)
wanted=$(grep -c inputPath "$kind/health_test.yaml")
echo "Argo CD $version has run the health script on $passed of $wanted objects"
test "$passed" -eq "$wanted"
