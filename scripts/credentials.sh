#!/bin/bash
# Make what a service off loopback needs: a token, an authority, and certificates for the service and one client.
#
#     scripts/credentials.sh DIR HOST...
#
# HOST...: every name or address by which clients call the service. Nothing that is in DIR already is replaced, so the
# command can be run again for what is missing; delete a file to have it made anew.
set -euo pipefail

if [ $# -lt 2 ]; then
  echo "usage: $0 DIR HOST..." >&2
  exit 2
fi
if ! command -v openssl >/dev/null; then
  echo "error: openssl is not installed (Debian: apt-get install openssl)" >&2
  exit 1
fi
folder=$1
shift
days=825
mkdir -p "$folder"
cd "$folder"
umask 077

names=
for host in "$@"; do
  kind=DNS
  case $host in
    *:* | [0-9]*.[0-9]*.[0-9]*.[0-9]*) kind=IP ;;
  esac
  names+=${names:+,}$kind:$host
done

new_key() {
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"
}

# sign NAME EXTENSIONS: a certificate for NAME.key by our authority.
sign() {
  openssl req -new -key "$1.key" -subj "/CN=rlfactory $1" |
    openssl x509 -req -CA ca.pem -CAkey ca.key -CAcreateserial -days "$days" -sha256 -out "$1.pem" \
      -extfile <(printf 'basicConstraints=critical,CA:FALSE\n%s\n' "$2") 2>/dev/null
}

if [ ! -e token ]; then
  openssl rand -hex 32 >token
fi
if [ ! -e ca.pem ]; then
  new_key ca.key
  openssl req -x509 -key ca.key -subj "/CN=rlfactory authority" -days "$days" -sha256 -out ca.pem \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
fi
if [ ! -e server.pem ]; then
  new_key server.key
  sign server "$(printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth' "$names")"
fi
if [ ! -e client.pem ]; then
  new_key client.key
  sign client 'extendedKeyUsage=clientAuth'
fi

cat <<TEXT
In $PWD:
  token                      for both sides (--token-file)
  ca.pem                     for clients (--tls-ca) and, for mutual TLS, the service (--tls-client-ca)
  server.pem server.key      for the service ($names)
  client.pem client.key      for a client, with mutual TLS
  ca.key                     signs further certificates: keep it away from both
TEXT
