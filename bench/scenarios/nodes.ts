import { type RequestKind, wrkLoad } from "../load/wrk.ts";
import { hasPostgres } from "../prerequisites.ts";
import type { Scenario } from "../scenario.ts";
import { hasValkey } from "../valkey.ts";
import { assertSameRestList } from "./same-answer.ts";
import type { Setting } from "./setting.ts";
import { sideBySide } from "./side-by-side.ts";
import { atLeast, compared } from "./targets.ts";

/**
 * What a store in PostgreSQL, limits in Valkey and several servers cost. Rows whose program is missing are left out.
 */
export function nodes(setting: Setting): Scenario[] {
  return [
    ...(hasPostgres ? overPostgres(setting) : []),
    ...(hasPostgres && hasValkey ? [severalServers(setting)] : []),
    ...(hasValkey
      ? [
          limitsInValkey(setting, "PATCH", "patch"),
          limitsInValkey(setting, "list of 20 pets", "list"),
          limitsInValkey(setting, "single reads", "read"),
        ]
      : []),
  ];
}

function overPostgres({ contenders, city, directory }: Setting): Scenario[] {
  const { postgres, fastifyPostgres, service } = contenders;
  return [
    sideBySide({
      title: "More nodes: REST PATCH over PostgreSQL, 64 connections",
      contenders: [postgres, fastifyPostgres, service],
      data: city,
      load: wrkLoad("patch", 64),
      updatesAtATime: 64,
      targets: [atLeast(3, fastifyPostgres), compared(service)],
      directory,
    }),
    sideBySide({
      title: `More nodes: REST list of ${city.petCount.toLocaleString("en")} pets over PostgreSQL and SQLite, 8 connections`,
      contenders: [postgres, service],
      data: city,
      load: wrkLoad("list", 8),
      assertSame: assertSameRestList,
      targets: [atLeast(0.7, service)],
      directory,
    }),
  ];
}

function severalServers({ contenders, city, directory }: Setting): Scenario {
  const { oneServer, twoServers, threeServers } = contenders;
  return sideBySide({
    title: "More nodes: REST PATCH over one PostgreSQL and one Valkey, 64 connections in all",
    contenders: [twoServers, threeServers, oneServer],
    data: city,
    load: wrkLoad("patch", 64),
    updatesAtATime: 64,
    targets: [compared(oneServer), { ...compared(oneServer), of: threeServers.name }],
    directory,
  });
}

/** All requests have the same key. Limits in Valkey may take at most 40 % of the throughput. */
function limitsInValkey({ contenders, shop, directory }: Setting, what: string, kind: RequestKind): Scenario {
  const { sharedLimits, service } = contenders;
  return sideBySide({
    title: `More nodes: REST ${what}, 64 connections, limits in Valkey and in memory`,
    contenders: [sharedLimits, service],
    data: shop,
    load: wrkLoad(kind, 64),
    ...(kind === "patch" && { updatesAtATime: 64 }),
    targets: [atLeast(0.6, service)],
    directory,
  });
}
