import { createPetstoreClient, reasonOf } from "petstore-inventory-client";

const form = document.querySelector("form");
const status = document.querySelector("[role=status]");
const rows = document.querySelector("tbody");

form.addEventListener("submit", (event) => {
  event.preventDefault();
  rows.replaceChildren();
  list(Object.fromEntries(new FormData(form))).catch((error) => {
    status.textContent = `${reasonOf(error) ?? "FAILED"}: ${error.message}`;
  });
});

async function list({ baseUrl, apiKey }) {
  const petstore = createPetstoreClient({ baseUrl, apiKey });
  for await (const { petId, quantity } of petstore.listInventory({ pageSize: 5 })) {
    const row = rows.insertRow();
    row.insertCell().textContent = petId;
    row.insertCell().textContent = quantity;
  }
  const { remaining, limit } = petstore.limits;
  status.textContent = `${remaining} of ${limit} requests left`;
}
