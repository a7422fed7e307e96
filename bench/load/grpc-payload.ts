/**
 * Writes the DATA payload of a gRPC `UpdateInventory`, envelope and message, at an offset. Returns where it ends.
 *
 * Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
export function writeUpdate(target: Buffer, offset: number, petId: number, quantity: number): number {
  const message = offset + envelopeBytes;
  target[message] = petIdTag;
  const update = writeVarint(target, message + 1, petId);
  target[update] = updateTag;
  target[update + 2] = quantityTag;
  const end = writeVarint(target, update + 3, quantity);
  target[update + 1] = end - update - 2;
  target[offset] = 0;
  target.writeUInt32BE(end - message, offset + 1);
  return end;
}

/** As `writeUpdate`, for a message without fields. */
export function writeEmpty(target: Buffer, offset: number): number {
  const end = offset + envelopeBytes;
  target.fill(0, offset, end);
  return end;
}

const envelopeBytes = 5;

// Field number and wire type, as in petstore/v1/inventory_service.proto and inventory.proto.
const petIdTag = (1 << 3) | 0;
const updateTag = (2 << 3) | 2;
const quantityTag = (1 << 3) | 0;

function writeVarint(target: Buffer, offset: number, value: number): number {
  let rest = value;
  let end = offset;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) {
    target[end++] = (rest % 0x80) | 0x80;
  }
  target[end++] = rest;
  return end;
}
