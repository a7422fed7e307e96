import { join } from "node:path";
import type { Contenders } from "./contender.ts";
import type { DataSet } from "./data-set.ts";
import { nodeLoad } from "./load/load.ts";
import { wrkLoad } from "./load/wrk.ts";
import { prepareLongHistory } from "./long-history.ts";
import type { ProfiledLoad } from "./profile.ts";
import type { Scenario, Target } from "./scenario.ts";
import { sideBySide } from "./side-by-side.ts";
import { slowDisk } from "./slow-disk.ts";
import { stockChanges } from "./stock-changes.ts";

/** What scenarios need. */
export interface Setting {
  readonly contenders: Contenders;
  /** The pets of a city. */
  readonly city: DataSet;
  /** Twenty pets. */
  readonly shop: DataSet;
  readonly directory: string;
}

const patchLoad = wrkLoad("patch", 64);
const grpcLoad = nodeLoad(join(import.meta.dirname, "load/h2.ts"));

/** The loads under which the service is also profiled. */
export const profiledLoads: readonly ProfiledLoad[] = [
  { name: "REST PATCH", load: patchLoad },
  { name: "gRPC UpdateInventory", load: grpcLoad },
];

/** All scenarios, with their targets. */
export function createScenarios({ contenders, city, shop, directory }: Setting): Scenario[] {
  const { service, traced, fastify, connectHttp1, connectHttp2, grpcJs, bareHttp, bareHttp2, readyBytes } = contenders;
  const slow = slowDisk({ service, bystander: bareHttp, data: city, directory });
  return [
    sideBySide({
      title: "REST PATCH, 64 connections (petstore: synchronous=FULL and a history, peers: NORMAL and none)",
      contenders: [service, fastify, bareHttp],
      data: city,
      load: patchLoad,
      updatesAtATime: 64,
      targets: [atLeast(1.8, fastify), atLeast(0.6, bareHttp)],
      directory,
    }),
    stockChanges({
      service,
      data: city,
      prepareLongHistory: () => prepareLongHistory(city),
      directory,
    }),
    sideBySide({
      title: "REST list of 20 pets, 64 connections",
      contenders: [service, fastify],
      data: shop,
      load: wrkLoad("list", 64),
      targets: [atLeast(1.5, fastify)],
      directory,
    }),
    sideBySide({
      title: `REST list of ${city.petCount.toLocaleString("en")} pets, 8 connections`,
      contenders: [service, fastify, readyBytes],
      data: city,
      load: wrkLoad("list", 8),
      targets: [atLeast(20, fastify), atLeast(0.5, readyBytes)],
      directory,
    }),
    sideBySide({
      title: "gRPC UpdateInventory, 8 connections × 16 streams",
      contenders: [service, grpcJs, connectHttp2, bareHttp2],
      data: city,
      load: grpcLoad,
      updatesAtATime: 128,
      targets: [atLeast(1.5, grpcJs), atLeast(6, connectHttp2), atLeast(0.6, bareHttp2)],
      directory,
    }),
    sideBySide({
      title: "Connect JSON UpdateInventory over HTTP/1.1, 64 connections",
      contenders: [service, connectHttp1],
      data: city,
      load: wrkLoad("connect", 64),
      updatesAtATime: 64,
      targets: [atLeast(4, connectHttp1)],
      directory,
    }),
    sideBySide({
      title: "REST PATCH, 64 connections, without tracing and with it",
      contenders: [service, traced],
      data: city,
      load: patchLoad,
      updatesAtATime: 64,
      targets: [atLeast(1, traced)],
      directory,
    }),
    ...(slow === undefined ? [] : [slow]),
  ];
}

function atLeast(ratio: number, { name }: { name: string }): Target {
  return { against: name, metric: "requestsPerSecond", atLeast: ratio };
}
