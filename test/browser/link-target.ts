import type { Page } from "playwright-core";
import { expect } from "vitest";

/** How far below the head of the page the target of a link may stand, in pixels. */
const maxGap = 40;

/** As far down it may be at the end of the page, which cannot be scrolled any further. */
const maxGapAtEnd = 250;

/** Where an element stands on the screen. */
interface Place {
  readonly id: string;
  /** How far its top is below the head of the page, in pixels. */
  readonly gap: number;
  readonly isAtEnd: boolean;
}

async function placeOf(page: Page, id: string): Promise<Place> {
  return (await page.evaluate(`(() => {
    const { top } = document.getElementById(${JSON.stringify(id)}).getBoundingClientRect();
    const { scrollHeight, clientHeight } = document.documentElement;
    return {
      id: ${JSON.stringify(id)},
      gap: Math.round(top - document.querySelector("header").getBoundingClientRect().bottom),
      isAtEnd: Math.abs(scrollHeight - clientHeight - scrollY) < 2,
    };
  })()`)) as Place;
}

/** Fails unless the target of a link stands at the top of the screen, and not under the head of the page. */
export async function expectInSight(page: Page, id: string): Promise<void> {
  // What is smooth takes its time, and would be seen to have stopped short.
  await expect
    .poll(() => placeOf(page, id), { timeout: 3_000, interval: 20 })
    .toSatisfy(({ gap, isAtEnd }: Place) => gap >= 0 && gap <= (isAtEnd ? maxGapAtEnd : maxGap));
}

/** The targets of all links within the page; of the error codes, which are alike, the first and the last. */
export async function anchorsOf(page: Page): Promise<string[]> {
  return (await page.evaluate(`(() => {
    const ids = [...document.querySelectorAll('main a[href^="#"], nav a[href^="#"]')].map(({ hash }) => hash.slice(1));
    const codes = [...document.querySelectorAll(".error")].map(({ id }) => id).slice(1, -1);
    return [...new Set(ids)].filter((id) => !codes.includes(id));
  })()`)) as string[];
}
