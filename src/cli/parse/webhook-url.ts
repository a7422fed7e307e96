import { argument } from "./argument.ts";

/** The longest URL of a webhook. */
const maxLength = 2_048;

/** Reads the URL of a webhook, and writes it as browsers do. */
export const parseWebhookUrl = argument((text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === "https:" || url?.protocol === "http:";
  const isPlain = url !== undefined && url.username === "" && url.password === "" && url.hash === "";
  return isHttp && isPlain && text.length <= maxLength && hasSlashes.test(text) && !hasBlanks.test(text)
    ? url.href
    : undefined;
}, "an http or https URL with a host, without credentials and fragment");

/** WHATWG's parser takes `http:host`, too, and what has no host at all. */
const hasSlashes = /^https?:\/\/[^/?#\\]/i;

/** WHATWG's parser leaves out line breaks and tabs, and cuts spaces off. */
const hasBlanks = /[\0- \x7f]/;
