import { expect, it } from "vitest";
import { createSite } from "../../src/reference/site.ts";
import { apiServices } from "../../src/server/api.ts";

it("writes the reference for the next reader when that has failed for the first one", async () => {
  let asked = 0;
  const ownOrigin = () => {
    asked += 1;
    if (asked === 1) {
      throw new Error("not yet");
    }
    return "http://127.0.0.1:8080";
  };
  const baseUrls = { production: undefined, staging: undefined };
  const site = createSite({ baseUrls, services: apiServices, ownOrigin });
  await expect(site.find("/docs")).rejects.toThrow("not yet");
  expect(await site.find("/docs")).toBeInstanceOf(Function);
  expect(await site.find("/docs")).toBe(await site.find("/docs"));
  expect(asked).toBe(2);
});
