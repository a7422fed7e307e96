/** The limits' headers of an answer of the service, with the values of one moment. */
export const limitHeaders = {
  "x-ratelimit-limit": "1000000000",
  "x-ratelimit-remaining": "999999999",
  "x-ratelimit-reset": "1799999999",
  "ratelimit-policy": '"minute";q=1000000000;w=60, "day";q=1000000000;w=86400',
  ratelimit: '"minute";r=999999999;t=60, "day";r=999999999;t=86400',
};
