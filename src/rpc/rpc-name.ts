import type { DescMethod } from "@bufbuild/protobuf";

/** The full name of an RPC: `package.Service/Method`. */
export function rpcName({ parent, name }: DescMethod): string {
  return `${parent.typeName}/${name}`;
}

/** Where an RPC is called over Connect, gRPC and gRPC-Web: `/package.Service/Method`. */
export function rpcPath(method: DescMethod): string {
  return `/${rpcName(method)}`;
}
