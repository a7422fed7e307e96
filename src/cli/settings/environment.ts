/** Takes the variables of ours that are empty for unset, as whoever fills in a container's settings means them. */
export function dropEmptyVariables(env: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith("PETSTORE_") && value === "") {
      delete env[name];
    }
  }
}
