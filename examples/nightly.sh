#!/bin/sh
# A nightly job by curl: sets the stock of a whole delivery in one request, which counts once towards the limits. With
# its date as the idempotency key, a job that is started again does nothing twice. Each change is made or refused by
# itself: the answer is 200 all the same, and the job fails if a change was refused, as that of pet 404404 is.
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

code=0
answer=$(curl --silent --show-error --fail-with-body --retry 3 --header "Authorization: Bearer $PETSTORE_API_KEY" \
  --header "Idempotency-Key: nightly-$date" --json "$changes" "$base_url/inventory:batch") || code=$?
printf '%s\n' "$answer"
case $answer in
  *'"error":'*)
    echo "nightly.sh: a change was refused; its error says why" >&2
    code=1
    ;;
esac
exit "$code"
