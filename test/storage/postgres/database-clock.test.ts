import { expect, it } from "vitest";
import { DatabaseClock } from "../../../src/storage/postgres/servers.ts";

const hourMs = 3_600_000;

/** Tells a clock that a database's is an hour ahead, to a question that was answered at once or late. */
function learnHour(clock: DatabaseClock, lateMs = 0): void {
  const answeredAtMs = performance.now();
  clock.learn(Date.now() + hourMs, answeredAtMs - lateMs, answeredAtMs);
}

it("goes by the database's clock, once it has heard of it", () => {
  const clock = new DatabaseClock();
  expect(Math.abs(clock.now() - Date.now())).toBeLessThan(50);
  learnHour(clock);
  expect(Math.abs(clock.now() - Date.now() - hourMs)).toBeLessThan(50);
});

it("follows the database's clock when that is set", () => {
  const clock = new DatabaseClock();
  clock.learn(0, performance.now(), performance.now());
  learnHour(clock);
  expect(Math.abs(clock.now() - Date.now() - hourMs)).toBeLessThan(50);
});

it("is not led astray by an answer that was long under way", () => {
  const clock = new DatabaseClock();
  learnHour(clock);
  learnHour(clock, 10_000);
  expect(Math.abs(clock.now() - Date.now() - hourMs)).toBeLessThan(50);
});
