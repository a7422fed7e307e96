/** How many times their own size bytes may keep of the memory that they came in. */
const maxTimes = 4;

/**
 * The bytes, to be kept for a while: copied, if they are a small part of what came with them. All of that would stay in
 * memory as long as they do, and no window bounds it.
 */
export function kept(bytes: Buffer): Buffer {
  return maxTimes * bytes.length < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes;
}
