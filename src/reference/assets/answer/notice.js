import { createElement } from "../text.js";
import { writeWait } from "../wait.js";

/** The result of `describeAnswer` as an element. Its countdown ends when it is removed. */
export function createNotice({ title, text, facts = [], waitSeconds, href, linkText }) {
  const notice = createElement("div", "notice");
  notice.setAttribute("role", "status");
  if (title !== undefined) {
    append(notice, "strong", title);
  }
  append(notice, "p", text);
  if (facts.length > 0) {
    const list = append(notice, "dl");
    for (const [name, value] of facts) {
      const pair = append(list, "div");
      append(pair, "dt", name);
      append(pair, "dd", value);
    }
  }
  if (waitSeconds !== undefined) {
    // Screen readers do not announce each change of a timer.
    const timer = append(notice, "p");
    timer.setAttribute("role", "timer");
    countDown(timer, waitSeconds);
  }
  if (href !== undefined) {
    append(notice, "a", linkText).href = href;
  }
  return notice;
}

function append(parent, name, text = "") {
  const child = createElement(name, "", text);
  parent.append(child);
  return child;
}

function countDown(element, seconds) {
  const endsAtMs = Date.now() + seconds * 1_000;
  const show = () => {
    const left = Math.max(0, Math.ceil((endsAtMs - Date.now()) / 1_000));
    element.textContent = left > 0 ? `Time left: ${writeWait(left)}` : "The wait is over: send it again.";
    if (left === 0 || (timer !== undefined && !element.isConnected)) {
      clearInterval(timer);
    }
  };
  let timer;
  show();
  timer = setInterval(show, 1_000);
}
