/** A request that was sent, as a command for curl. The key stays unsaid: a command is there to be passed on. */
export function writeSentRequest({ url, method, headers = {}, body }) {
  const fields = Object.entries(headers).map(([name, value]) =>
    name.toLowerCase() === "authorization"
      ? '-H "Authorization: Bearer $PETSTORE_API_KEY"'
      : `-H ${quote(`${name}: ${value}`)}`,
  );
  const data = body === undefined ? [] : [`-d ${quote(body)}`];
  return [`curl ${quote(url)}`, `-X ${method}`, ...fields, ...data].join(" \\\n  ");
}

/** Source: POSIX, Shell Command Language, 2.2.2 */
function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
