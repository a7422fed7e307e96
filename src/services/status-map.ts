/** The two ways between the statuses of the domain and those of its messages. */
export interface StatusMap<Status extends string, Message extends number> {
  readonly toMessage: (status: Status) => Message;
  /** The message's rules have seen to it that there is such a status. */
  readonly fromMessage: (message: Message) => Status;
}

/** Makes the map of what each status is in messages. */
export function createStatusMap<Status extends string, Message extends number>(
  messages: Readonly<Record<Status, Message>>,
): StatusMap<Status, Message> {
  const statuses = new Map(Object.entries(messages).map(([status, message]) => [message, status as Status]));
  return {
    toMessage: (status) => messages[status],
    fromMessage: (message) => statuses.get(message) as Status,
  };
}
