/** Whether this is the long run, `npm run test:long`, and not `npm test`. */
export const isLong = process.env.PETSTORE_TEST_LONG === "1";

/** The number of repetitions: the first in `npm test`, the second in the long run. */
export function amount(usual: number, long: number): number {
  return isLong ? long : usual;
}
