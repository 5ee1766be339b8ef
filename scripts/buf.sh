#!/bin/bash
# Hold proto/ to what a public protocol keeps: format and lint (buf.yaml), and nothing of what was published is changed.
#
#     scripts/buf.sh            check
#     scripts/buf.sh publish    from now on, what is there now must not change (done with each release)
set -euo pipefail
cd "$(dirname "$0")/.."
published=proto/published.binpb

if ! command -v npm >/dev/null; then
  echo "left out: buf lint and buf breaking of proto/, for they need npm" >&2
  [ -z "${RLFACTORY_REQUIRE:-}" ] # CI has all that its checks need
  exit
fi
version=$(sed -n 's/.*"@bufbuild\/buf": "\(.*\)".*/\1/p' clients/typescript/package.json)
buf() {
  npm exec --yes --package="@bufbuild/buf@$version" -- buf "$@"
}

if [ "${1:-}" = publish ]; then
  buf build --exclude-source-info --path proto/envs -o "$published"
  exit
fi
buf format --diff --exit-code --path proto/envs
buf lint
buf breaking --against "$published"
