/**
 * The range of all times, in milliseconds since the Unix epoch: the years 1 to 9999, which RFC 3339 and
 * google.protobuf.Timestamp can tell.
 */
export const minTimestampMs = Date.parse("0001-01-01T00:00:00.000Z");
export const maxTimestampMs = Date.parse("9999-12-31T23:59:59.999Z");
