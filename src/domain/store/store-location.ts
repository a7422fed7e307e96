/** Whether a store is in a PostgreSQL database, by its URL; otherwise it is in a file. */
export function isPostgresUrl(location: string): boolean {
  return /^postgres(ql)?:/i.test(location);
}
