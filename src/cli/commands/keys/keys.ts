import type { Command } from "commander";
import { addKeysCreate, addKeysUpdate } from "./create-and-update.ts";
import { addKeysList, addKeysShow } from "./list-and-show.ts";
import { addKeysRevoke, addKeysRotate, addKeysUnban } from "./rotate-revoke-unban.ts";

/** `petstore keys …`: the API keys. */
export function addKeys(program: Command): void {
  const keys = program
    .command("keys")
    .summary("create, list, update and revoke API keys")
    .description("Creates, lists, updates and revokes API keys. Running servers apply changes within a second.")
    .addHelpText("after", examples);
  addKeysCreate(keys);
  addKeysList(keys);
  addKeysShow(keys);
  addKeysUpdate(keys);
  addKeysRotate(keys);
  addKeysRevoke(keys);
  addKeysUnban(keys);
}

const examples = `
Examples:
  $ petstore keys create --plan free --name "Till 3" --scope inventory:read
  $ petstore keys list
  $ petstore keys update key_4kD0aT7uLw2QxYzB --plan pro
  $ petstore keys rotate key_4kD0aT7uLw2QxYzB --grace 7d`;
