import { grpcLoad } from "../load/node-loads.ts";
import { wrkLoad } from "../load/wrk.ts";
import type { ProfiledLoad } from "../profile.ts";
import type { Scenario } from "../scenario.ts";
import { prepareLongHistory } from "./long-history.ts";
import { nodes } from "./nodes.ts";
import { assertSameList, assertSameRestList } from "./same-answer.ts";
import type { Setting } from "./setting.ts";
import { sideBySide } from "./side-by-side.ts";
import { slowDisk } from "./slow-disk.ts";
import { changesOfOneClient, stockChanges } from "./stock-changes.ts";
import { longScenario, tailScenario } from "./tail.ts";
import { atLeast, compared, cpuAtMost } from "./targets.ts";

const patchLoad = wrkLoad("patch", 64);
const grpcUpdates = grpcLoad("UpdateInventory");

/** The loads under which the service is also profiled. */
export const profiledLoads: readonly ProfiledLoad[] = [
  { name: "REST PATCH", load: patchLoad },
  { name: "gRPC UpdateInventory", load: grpcUpdates },
];

/** All scenarios, with their targets. */
export function createScenarios(setting: Setting): Scenario[] {
  const { contenders, city, directory } = setting;
  const { service, traced, bareHttp } = contenders;
  const slow = slowDisk({ service, bystander: bareHttp, data: city, directory });
  return [
    ...updates(setting),
    ...lists(setting),
    ...overTls(setting),
    ...tails(setting),
    stockChanges({
      service,
      data: city,
      prepareLongHistory: () => prepareLongHistory(city),
      directory,
    }),
    changesOfOneClient({ service, data: city, directory }),
    sideBySide({
      title: "REST PATCH, 64 connections, without tracing and with it",
      contenders: [service, traced],
      data: city,
      load: patchLoad,
      updatesAtATime: 64,
      targets: [atLeast(1, traced)],
      directory,
    }),
    ...nodes(setting),
    ...(slow === undefined ? [] : [slow]),
  ];
}

function updates({ contenders, city, directory }: Setting): Scenario[] {
  const { service, fastify, goHttp, goHttpFull, goVanguard, rust, bareHttp } = contenders;
  const { grpcJs, connectHttp1, connectHttp2, goGrpc, bareHttp2 } = contenders;
  return [
    sideBySide({
      title: "REST PATCH, 64 connections (petstore: synchronous=FULL and a history, peers: NORMAL and none)",
      contenders: [service, fastify, goHttp, goHttpFull, goVanguard, rust, bareHttp],
      data: city,
      load: patchLoad,
      updatesAtATime: 64,
      targets: [
        atLeast(2.2, fastify),
        cpuAtMost(0.5, fastify),
        atLeast(1.6, goHttp),
        cpuAtMost(0.7, goHttp),
        atLeast(5, goHttpFull),
        cpuAtMost(0.3, goHttpFull),
        compared(goVanguard),
        atLeast(0.65, rust),
        atLeast(0.65, bareHttp),
      ],
      directory,
    }),
    sideBySide({
      title: "gRPC UpdateInventory, 8 connections × 16 streams",
      contenders: [service, grpcJs, connectHttp2, goGrpc, bareHttp2],
      data: city,
      load: grpcUpdates,
      updatesAtATime: 128,
      targets: [
        atLeast(1.8, grpcJs),
        cpuAtMost(0.6, grpcJs),
        atLeast(6, connectHttp2),
        cpuAtMost(0.17, connectHttp2),
        atLeast(1, goGrpc),
        cpuAtMost(1, goGrpc),
        atLeast(0.6, bareHttp2),
      ],
      directory,
    }),
    sideBySide({
      title: "Connect JSON UpdateInventory over HTTP/1.1, 64 connections",
      contenders: [service, connectHttp1],
      data: city,
      load: wrkLoad("connect", 64),
      updatesAtATime: 64,
      targets: [atLeast(5, connectHttp1), cpuAtMost(0.2, connectHttp1)],
      directory,
    }),
  ];
}

function lists({ contenders, city, shop, directory }: Setting): Scenario[] {
  const { service, fastify, goHttp, rust, readyBytes, grpcJs, goGrpc, bareHttp } = contenders;
  return [
    sideBySide({
      title: "REST list of 20 pets, 64 connections",
      contenders: [service, fastify, goHttp, rust],
      data: shop,
      load: wrkLoad("list", 64),
      assertSame: assertSameRestList,
      targets: [
        atLeast(2, fastify),
        cpuAtMost(0.5, fastify),
        atLeast(1.2, goHttp),
        cpuAtMost(0.6, goHttp),
        compared(rust),
      ],
      directory,
    }),
    sideBySide({
      title: "Single reads over REST, 64 connections",
      contenders: [service, fastify, goHttp, bareHttp],
      data: city,
      load: wrkLoad("read", 64),
      targets: [compared(fastify), compared(goHttp), cpuAtMost(1.4, bareHttp)],
      directory,
    }),
    sideBySide({
      title: `REST list of ${city.petCount.toLocaleString("en")} pets, 8 connections`,
      contenders: [service, fastify, goHttp, rust, readyBytes],
      data: city,
      load: wrkLoad("list", 8),
      assertSame: assertSameRestList,
      targets: [atLeast(50, fastify), compared(goHttp), compared(rust), atLeast(0.9, readyBytes)],
      directory,
    }),
    sideBySide({
      title: "gRPC ListInventory of 20 pets, 8 connections × 16 streams",
      contenders: [service, grpcJs, goGrpc],
      data: shop,
      load: grpcLoad("ListInventory"),
      assertSame: assertSameList,
      targets: [atLeast(1.8, grpcJs), cpuAtMost(0.6, grpcJs), compared(goGrpc)],
      directory,
    }),
  ];
}

function overTls({ contenders, city, directory }: Setting): Scenario[] {
  const { serviceTls, fastifyTls, grpcJsTls } = contenders;
  return [
    sideBySide({
      title: "REST PATCH over TLS, 64 connections",
      contenders: [serviceTls, fastifyTls],
      data: city,
      load: patchLoad,
      updatesAtATime: 64,
      targets: [atLeast(1.8, fastifyTls), cpuAtMost(0.6, fastifyTls)],
      directory,
    }),
    sideBySide({
      title: "gRPC UpdateInventory over TLS, 8 connections × 16 streams",
      contenders: [serviceTls, grpcJsTls],
      data: city,
      load: grpcUpdates,
      updatesAtATime: 128,
      targets: [compared(grpcJsTls)],
      directory,
    }),
  ];
}

function tails({ contenders, city, directory }: Setting): Scenario[] {
  const { service, fastify, goHttp, goHttpFull } = contenders;
  const setting = { service, data: city, directory };
  return [
    tailScenario({
      title: "Tail of REST PATCH, at half of the top rate",
      kind: "patch",
      peers: [fastify, goHttp, goHttpFull],
      ...setting,
    }),
    tailScenario({
      title: "Tail of single reads over REST, at half of the top rate",
      kind: "read",
      peers: [fastify, goHttp],
      ...setting,
    }),
    longScenario({ title: "Pauses: a long round of REST PATCH, at half of the top rate", kind: "patch", ...setting }),
  ];
}
