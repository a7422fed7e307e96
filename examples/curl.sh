#!/bin/sh
# REST by curl: a list, an update, and the limits. On a 429, `--retry` waits for as long as `Retry-After` says.
#
#     PETSTORE_API_KEY=psk_… examples/curl.sh
set -eu
base_url=${BASE_URL:-http://127.0.0.1:8080/v1}

call() {
  curl --silent --show-error --fail-with-body --retry 3 --header "Authorization: Bearer $PETSTORE_API_KEY" "$@"
}

call "$base_url/inventory?status=pending&pageSize=100"
echo

call --request PATCH --json '{"quantity": 8}' "$base_url/inventory/7"
echo

call --head "$base_url/inventory" | grep -i ratelimit
