/**
 * Sets the clock of a process off by `TEST_CLOCK_SHIFT_MS`. Servers are started with `--import` of this file: nothing of
 * the service itself knows of it.
 */
const shiftMs = Number(process.env.TEST_CLOCK_SHIFT_MS ?? 0);
const RealDate = Date;
const now = (): number => RealDate.now() + shiftMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, name, receiver) => (name === "now" ? now : Reflect.get(target, name, receiver)),
});
