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
  /** Whether it is at the top of the screen, below the page header. */
  readonly isInSight: boolean;
}

/** Where an element is once it is in sight, or after three seconds: scrolling may take time. Looks at each frame. */
async function placeOf(page: Page, id: string): Promise<Place> {
  return (await page.evaluate(`(async () => {
    const id = ${JSON.stringify(id)};
    const deadline = performance.now() + 3_000;
    for (;;) {
      const { top } = document.getElementById(id).getBoundingClientRect();
      const { scrollHeight, clientHeight } = document.documentElement;
      const gap = Math.round(top - document.querySelector("header").getBoundingClientRect().bottom);
      const isAtEnd = Math.abs(scrollHeight - clientHeight - scrollY) < 2;
      const isInSight = gap >= 0 && gap <= (isAtEnd ? ${maxGapAtEnd} : ${maxGap});
      if (isInSight || performance.now() > deadline) {
        return { id, gap, isAtEnd, isInSight };
      }
      await new Promise(requestAnimationFrame);
    }
  })()`)) as Place;
}

/** Fails unless the target of a link is, or soon comes, at the top of the screen, below the page header. */
export async function expectInSight(page: Page, id: string): Promise<void> {
  expect(await placeOf(page, id)).toMatchObject({ id, isInSight: true });
}

/** The targets of all links within the page. Of the error codes, only the first and the last. */
export async function anchorsOf(page: Page): Promise<string[]> {
  return (await page.evaluate(`(() => {
    const ids = [...document.querySelectorAll('main a[href^="#"], nav a[href^="#"]')].map(({ hash }) => hash.slice(1));
    const codes = [...document.querySelectorAll(".error")].map(({ id }) => id).slice(1, -1);
    return [...new Set(ids)].filter((id) => !codes.includes(id));
  })()`)) as string[];
}
