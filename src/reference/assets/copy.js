/** How long a button confirms the copy, in milliseconds. */
const shownMs = 2_000;

/** Adds a copy button to each block of code. */
export function connectCopyButtons() {
  for (const block of document.querySelectorAll(".code")) {
    addCopyButton(block);
  }
}

/** Adds a copy button to a block of code. Browsers allow copying only on encrypted and on local pages. */
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
