import type { Page } from "playwright-core";
import { expect } from "vitest";

/** The largest distance of a link target from the page header, in pixels. */
const maxGap = 40;

/** The largest distance at the end of the page, which cannot be scrolled further. */
const maxGapAtEnd = 250;

/** The position of an element on the screen. */
interface Place {
  readonly id: string;
  /** The distance of its top from the page header, in pixels. */
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

/** Fails unless the target of a link is at the top of the screen, below the page header. */
export async function expectInSight(page: Page, id: string): Promise<void> {
  // Smooth scrolling takes time, and would be measured before its end.
  await expect
    .poll(() => placeOf(page, id), { timeout: 3_000, interval: 20 })
    .toSatisfy(({ gap, isAtEnd }: Place) => gap >= 0 && gap <= (isAtEnd ? maxGapAtEnd : maxGap));
}

/** The targets of all links within the page. Of the error codes, only the first and the last. */
export async function anchorsOf(page: Page): Promise<string[]> {
  return (await page.evaluate(`(() => {
    const ids = [...document.querySelectorAll('main a[href^="#"], nav a[href^="#"]')].map(({ hash }) => hash.slice(1));
    const codes = [...document.querySelectorAll(".error")].map(({ id }) => id).slice(1, -1);
    return [...new Set(ids)].filter((id) => !codes.includes(id));
  })()`)) as string[];
}
