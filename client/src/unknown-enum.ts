/** An enum number that this version of the client does not know, because the service is newer. */
export type UnknownEnum = number & { __unknown_enum: true };
