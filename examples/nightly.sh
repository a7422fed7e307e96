#!/bin/sh
# A nightly job by curl: sets the stock of a whole delivery in one request, which counts once towards the limits. With
# its date as the idempotency key, a job that is started again does nothing twice.
#
#     PETSTORE_API_KEY=psk_… examples/nightly.sh
set -eu
base_url=${BASE_URL:-http://127.0.0.1:8080/v1}
date=$(date -u +%F)

changes='{"changes": [
  {"petId": 7, "delta": 10, "reason": "delivery"},
  {"petId": 8, "quantity": 4, "reason": "stock-take"},
  {"petId": 404404, "delta": 1, "reason": "delivery"}
]}'

curl --silent --show-error --fail-with-body --retry 3 --header "Authorization: Bearer $PETSTORE_API_KEY" \
  --header "Idempotency-Key: nightly-$date" --json "$changes" "$base_url/inventory:batch"
echo
