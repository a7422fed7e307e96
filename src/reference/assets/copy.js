/** How long a button says that it has copied. */
const shownMs = 2_000;

/** Gives each block of code a button that copies it, where the browser allows that: on encrypted pages, and locally. */
export function connectCopyButtons() {
  if (navigator.clipboard === undefined) {
    return;
  }
  for (const block of document.querySelectorAll(".code")) {
    addCopyButton(block);
  }
}

export function addCopyButton(block) {
  if (navigator.clipboard === undefined) {
    return;
  }
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => void copy(block.querySelector("code").textContent, button));
  block.append(button);
}

async function copy(text, button) {
  button.textContent = await navigator.clipboard.writeText(text).then(
    () => "Copied",
    () => "Not allowed",
  );
  setTimeout(() => {
    button.textContent = "Copy";
  }, shownMs);
}
