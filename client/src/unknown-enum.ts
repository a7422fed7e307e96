/** A number of an enum that this version of the client does not know, since the service is newer. */
export type UnknownEnum = number & { __unknown_enum: true };
