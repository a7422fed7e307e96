import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createFolder } from "../support/folder.ts";
import { isInstalled } from "../support/installed.ts";
import { alertFile, alertRules } from "../support/ops-files.ts";

/** Series in promtool's notation, a value a minute. Source: https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/ */
type Series = Readonly<Record<string, string>>;

interface Case {
  readonly alert: string;
  readonly when: string;
  readonly series: Series;
  /** When the rules are asked, after the first value. */
  readonly at: string;
  /** What the operator reads, where the alert fires. */
  readonly description?: string;
}

const instance = 'job="petstore",instance="shop:9090"';
const getPet = `${instance},method="petstore.v1.PetService/GetPet"`;
const update = `${instance},method="petstore.v1.InventoryService/UpdateInventory"`;
const gib = 2 ** 30;
/** A time in the past of promtool, whose clock begins at 0. */
const minutes = (count: number) => String(count * 60);

/** Durations of which all are longer than a second, or none: ten a minute. */
const slow = (name: string, labels: string): Series => ({
  [`${name}_bucket{${labels},le="0.05"}`]: "0x60",
  [`${name}_bucket{${labels},le="1"}`]: "0x60",
  [`${name}_bucket{${labels},le="2.5"}`]: "0+10x60",
  [`${name}_bucket{${labels},le="+Inf"}`]: "0+10x60",
});
const quick = (name: string, labels: string): Series => ({
  [`${name}_bucket{${labels},le="0.05"}`]: "0+10x60",
  [`${name}_bucket{${labels},le="+Inf"}`]: "0+10x60",
});
const durations = "petstore_call_duration_seconds";
const syncs = "petstore_commit_sync_seconds";
const streamLag = "petstore_stream_lag_seconds";

const disk = (free: number, size: number): Series => ({
  [`petstore_store_filesystem_free_bytes{${instance}}`]: `${free}x60`,
  [`petstore_store_filesystem_size_bytes{${instance}}`]: `${size}x60`,
});

const cases: readonly Case[] = [
  {
    alert: "PetstoreDown",
    when: "nobody answers for a minute",
    series: { [`up{${instance}}`]: "0x5" },
    at: "1m",
    description: "shop:9090 has not been scraped for a minute. Look at its process and its logs.",
  },
  { alert: "PetstoreDown", when: "one scrape fails", series: { [`up{${instance}}`]: "1 0 1 1 1" }, at: "2m" },
  {
    alert: "PetstoreGone",
    when: "its only server is no longer a target",
    series: { [`up{${instance}}`]: "1x3 stale", 'up{job="prometheus",instance="shop:9091"}': "1x20" },
    at: "7m",
    description:
      "Prometheus has had no server of the job `petstore` to scrape for a minute. All have ended, or its configuration no longer finds them.",
  },
  {
    alert: "PetstoreGone",
    when: "a server is there and does not answer",
    series: { [`up{${instance}}`]: "0x20" },
    at: "7m",
  },
  {
    alert: "PetstoreRestarts",
    when: "it crashes every two minutes",
    series: { [`process_start_time_seconds{${instance}}`]: "0+120x20" },
    at: "10m",
    description: "shop:9090 has started 10 times in 15 minutes. Its logs say why it ended.",
  },
  {
    alert: "PetstoreRestarts",
    when: "an operator restarts it twice",
    series: { [`process_start_time_seconds{${instance}}`]: "0x3 240x3 420x20" },
    at: "10m",
  },
  {
    alert: "PetstoreRestarts",
    when: "another job's process crashes",
    series: { 'process_start_time_seconds{job="shop",instance="shop:80"}': "0+120x20" },
    at: "10m",
  },
  {
    alert: "PetstoreCallsFail",
    when: "one call in fifty fails",
    series: {
      [`petstore_calls_failed_total{${getPet}}`]: "0+1.2x60",
      [`petstore_calls_total{${getPet},code="OK"}`]: "0+60x60",
    },
    at: "20m",
    description: "0.02 calls a second fail on shop:9090. The logs say why, at `warn`.",
  },
  {
    alert: "PetstoreCallsFail",
    when: "one call in fifty fails, and pages and health checks are many",
    series: {
      [`petstore_calls_failed_total{${getPet}}`]: "0+1.2x60",
      [`petstore_calls_total{${getPet},code="OK"}`]: "0+60x60",
      [`petstore_calls_total{${instance},method="reference",code="OK"}`]: "0+60000x60",
      [`petstore_calls_total{${instance},method="grpc.health.v1.Health/Check",code="OK"}`]: "0+60000x60",
    },
    at: "20m",
    description: "0.02 calls a second fail on shop:9090. The logs say why, at `warn`.",
  },
  {
    alert: "PetstoreCallsFail",
    when: "one call in two hundred fails",
    series: {
      [`petstore_calls_failed_total{${getPet}}`]: "0+0.3x60",
      [`petstore_calls_total{${getPet},code="OK"}`]: "0+60x60",
    },
    at: "20m",
  },
  {
    alert: "PetstoreCallsFail",
    when: "clients get all calls wrong, and open too many streams",
    series: {
      [`petstore_calls_failed_total{${getPet}}`]: "0x60",
      [`petstore_calls_total{${getPet},code="INVALID_REQUEST"}`]: "0+60x60",
      [`petstore_calls_failed_total{${instance},method="grpc.health.v1.Health/Watch"}`]: "0+60x60",
      [`petstore_calls_total{${instance},method="grpc.health.v1.Health/Watch",code="UNAVAILABLE"}`]: "0+60x60",
    },
    at: "20m",
  },
  {
    alert: "PetstoreCallsFail",
    when: "there are no calls",
    series: { [`petstore_calls_failed_total{${getPet}}`]: "0x60" },
    at: "20m",
  },
  {
    alert: "PetstoreCallsSlow",
    when: "updates take more than a second",
    series: slow(durations, update),
    at: "30m",
    description: "One call in a hundred takes more than 2.485s on shop:9090.",
  },
  {
    alert: "PetstoreCallsSlow",
    when: "sales of held pets take more than a second",
    series: slow(durations, `method="petstore.v1.HoldService/CommitHold",${instance}`),
    at: "30m",
    description: "One call in a hundred takes more than 2.485s on shop:9090.",
  },
  { alert: "PetstoreCallsSlow", when: "updates are quick", series: quick(durations, update), at: "30m" },
  { alert: "PetstoreCallsSlow", when: "only streams last", series: slow(durations, getPet), at: "30m" },
  {
    alert: "PetstoreDiskSlow",
    when: "commits take more than a second",
    series: slow(syncs, instance),
    at: "30m",
    description:
      "One commit in a hundred takes more than 2.485s on shop:9090. It waits for its disk, or with PostgreSQL for the database or the network.",
  },
  { alert: "PetstoreDiskSlow", when: "commits are quick", series: quick(syncs, instance), at: "30m" },
  {
    alert: "PetstoreDiskSlow",
    when: "nothing is written",
    series: { [`${syncs}_bucket{${instance},le="0.05"}`]: "7x60", [`${syncs}_bucket{${instance},le="+Inf"}`]: "7x60" },
    at: "30m",
  },
  {
    alert: "PetstoreEventLoopBlocked",
    when: "it is late for minutes",
    series: { [`nodejs_eventloop_lag_p99_seconds{${instance}}`]: "0.3x60" },
    at: "10m",
    description: "It is 300ms late on shop:9090: there is more to do than one core can.",
  },
  {
    alert: "PetstoreEventLoopBlocked",
    when: "it is late once",
    series: { [`nodejs_eventloop_lag_p99_seconds{${instance}}`]: "0 0 3 0 0 0 0 0 0 0 0" },
    at: "8m",
  },
  {
    alert: "PetstoreLogGrows",
    when: "the log is not written back",
    series: { [`petstore_sqlite_wal_bytes{${instance}}`]: `${gib}x60` },
    at: "20m",
    description: "It has 1GiB on shop:9090. A long export or backup holds it, or another process that reads the store.",
  },
  {
    alert: "PetstoreLogGrows",
    when: "the log is as large as it mostly is",
    series: { [`petstore_sqlite_wal_bytes{${instance}}`]: `${64 * 2 ** 20}x60` },
    at: "20m",
  },
  {
    alert: "PetstoreDiskNearlyFull",
    when: "a twentieth is free",
    series: disk(gib, 20 * gib),
    at: "15m",
    description:
      "1GiB are free on shop:9090. Without room every update is refused. docs/operations.md says how to make a store smaller.",
  },
  { alert: "PetstoreDiskNearlyFull", when: "half is free", series: disk(10 * gib, 20 * gib), at: "15m" },
  { alert: "PetstoreDiskNearlyFull", when: "the disk is huge", series: disk(50 * gib, 1_000 * gib), at: "15m" },
  {
    alert: "PetstoreBackupOld",
    when: "it is two days old",
    series: { [`petstore_last_backup_timestamp_seconds{${instance}}`]: `${minutes(60)}x3000` },
    at: "49h",
    description: "It is of 2d 0h 0m 0s ago on shop:9090. Look at what runs `petstore backup`.",
  },
  {
    alert: "PetstoreBackupOld",
    when: "it is a day old",
    series: { [`petstore_last_backup_timestamp_seconds{${instance}}`]: `${minutes(1)}x2900` },
    at: "24h",
  },
  {
    alert: "PetstoreBackupOld",
    when: "there is none",
    series: { [`petstore_last_backup_timestamp_seconds{${instance}}`]: "0x2900" },
    at: "48h",
  },
  {
    alert: "PetstoreBackupMissing",
    when: "there is none after a day, with a restart in between",
    series: { [`petstore_last_backup_timestamp_seconds{${instance}}`]: "0x600 stale _x10 0x2000" },
    at: "25h",
    description:
      "The store of shop:9090 is a day old at least, and there is no backup of it. Have `petstore backup` run each day.",
  },
  {
    alert: "PetstoreBackupMissing",
    when: "the service is new",
    series: { [`petstore_last_backup_timestamp_seconds{${instance}}`]: "0x2900" },
    at: "23h",
  },
  {
    alert: "PetstoreBackupMissing",
    when: "there is one by now",
    series: { [`petstore_last_backup_timestamp_seconds{${instance}}`]: `0x1000 ${minutes(1_000)}x1900` },
    at: "25h",
  },
  {
    alert: "PetstoreKeysBanned",
    when: "they go on and on",
    series: { [`petstore_limit_decisions_total{${instance},plan="free",outcome="banned"}`]: "0+60x60" },
    at: "20m",
    description: "600 in 10 minutes on shop:9090. `petstore keys list` shows whose they are.",
  },
  {
    alert: "PetstoreKeysBanned",
    when: "requests are refused, and no key is banned",
    series: {
      [`petstore_limit_decisions_total{${instance},plan="free",outcome="banned"}`]: "0x60",
      [`petstore_limit_decisions_total{${instance},plan="free",outcome="refused"}`]: "0+60x60",
    },
    at: "20m",
  },
  {
    alert: "PetstoreStreamsLate",
    when: "changes take more than a second",
    series: slow(streamLag, instance),
    at: "30m",
    description: "One change in a hundred takes more than 2.485s to all streams of shop:9090.",
  },
  { alert: "PetstoreStreamsLate", when: "changes are quick", series: quick(streamLag, instance), at: "30m" },
  {
    alert: "PetstoreStreamsRefused",
    when: "a client opens more and more",
    series: { [`petstore_streams_refused_total{${instance}}`]: "0+60x60" },
    at: "20m",
    description:
      "600 in 10 minutes on shop:9090. A client opens streams and does not close them, there are too many clients, or Valkey does not answer.",
  },
  {
    alert: "PetstoreStreamsRefused",
    when: "one is refused now and then",
    series: { [`petstore_streams_refused_total{${instance}}`]: "0+1x60" },
    at: "20m",
  },
  {
    alert: "PetstoreWebhookBehind",
    when: "a receiver fails for twenty minutes, and another is well",
    series: {
      [`petstore_webhook_lag_seconds{${instance},webhook="whk_a"}`]: "0 0 0+60x60",
      [`petstore_webhook_lag_seconds{${instance},webhook="whk_b"}`]: "0x60",
    },
    at: "22m",
    description:
      "whk_a of shop:9090 is 20m 0s behind. `petstore webhooks deliveries whk_a` says why; after 3 days of failures it is paused.",
  },
  {
    alert: "PetstoreWebhookBehind",
    when: "a receiver is away for a few minutes",
    series: { [`petstore_webhook_lag_seconds{${instance},webhook="whk_a"}`]: "0+60x8 0x40" },
    at: "20m",
  },
  {
    alert: "PetstoreWebhookPaused",
    when: "one has failed for 3 days",
    series: {
      [`petstore_webhooks{${instance},state="active"}`]: "3x10",
      [`petstore_webhooks{${instance},state="paused_failures"}`]: "0x3 1x7",
    },
    at: "5m",
    description:
      "1 on shop:9090, after 3 days of failures, or as what is next is no longer kept. `petstore webhooks list` names them; mend the receiver, then `petstore webhooks resume ID`.",
  },
  {
    alert: "PetstoreWebhookPaused",
    when: "an operator has paused one",
    series: {
      [`petstore_webhooks{${instance},state="paused_operator"}`]: "1x10",
      [`petstore_webhooks{${instance},state="paused_failures"}`]: "0x10",
      [`petstore_webhooks{${instance},state="paused_history"}`]: "0x10",
    },
    at: "5m",
  },
  {
    alert: "PetstoreLimitsAway",
    when: "Valkey is away for more than a minute",
    series: { [`petstore_limits_away{${instance}}`]: "0 1x5" },
    at: "3m",
    description:
      "Valkey has not answered shop:9090, or has refused its writes, for a minute: `petstore status` on it says why. Limits are counted locally, or requests are refused, as --limits-fallback says.",
  },
  {
    alert: "PetstoreLimitsAway",
    when: "Valkey is restarted",
    series: { [`petstore_limits_away{${instance}}`]: "0 1 0x5" },
    at: "3m",
  },
  {
    alert: "PetstoreStoreAway",
    when: "one server of two does not reach the database",
    series: {
      [`petstore_store_away{${instance}}`]: "0 1x5",
      'petstore_store_away{job="petstore",instance="shop-2:9090"}': "0x6",
    },
    at: "3m",
    description:
      "The database or the disk has not answered shop:9090 for a minute: its calls end with UNAVAILABLE. If other servers do not fire, look at the network between the two.",
  },
  {
    alert: "PetstoreStoreAway",
    when: "the database is restarted",
    series: { [`petstore_store_away{${instance}}`]: "0 1 0x5" },
    at: "3m",
  },
];

/** What `sum by (instance)` and `absent` leave of the labels, and what the other alerts keep. */
function labelsOf({ expr, labels }: ReturnType<typeof ruleOf>): Readonly<Record<string, string>> {
  if (expr.startsWith("absent(")) {
    return { ...labels, job: "petstore" };
  }
  const isSummed = /by \(instance/.test(expr);
  const ofWebhook = /by \(instance, webhook\)/.test(expr) && { webhook: "whk_a" };
  return { ...labels, instance: "shop:9090", ...(!isSummed && { job: "petstore" }), ...ofWebhook };
}

function ruleOf(alert: string) {
  const rule = alertRules().find((one) => one.alert === alert);
  if (rule === undefined) {
    throw new Error(`there is no alert ${alert}`);
  }
  return rule;
}

/** One test as promtool has it. */
function toRuleTest({ alert, when, series, at, description }: Case) {
  const rule = ruleOf(alert);
  const fired = { exp_labels: labelsOf(rule), exp_annotations: { ...rule.annotations, description } };
  return {
    name: `${alert}: ${when}`,
    interval: "1m",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: [{ eval_time: at, alertname: alert, exp_alerts: description === undefined ? [] : [fired] }],
  };
}

/**
 * The cases, by how often promtool evaluates the rules until it asks. What takes days is of rules that say so by
 * themselves, without `for`: they need no evaluation in between.
 */
const byInterval = [
  { interval: "1m", asked: cases.filter(({ at }) => !at.endsWith("h")) },
  { interval: "1h", asked: cases.filter(({ at }) => at.endsWith("h")) },
];

it("each alert has a case in which it fires, and one in which it does not", () => {
  const firing = cases.filter(({ description }) => description !== undefined);
  const quiet = cases.filter(({ description }) => description === undefined);
  const names = alertRules().map(({ alert }) => alert);
  expect(names.filter((name) => ![firing, quiet].every((of) => of.some(({ alert }) => alert === name)))).toEqual([]);
});

it("no alert that is asked for by the hour waits by `for`", () => {
  const asked = byInterval.find(({ interval }) => interval === "1h")?.asked;
  expect(asked?.map(({ alert }) => ruleOf(alert).for)).toEqual(asked?.map(() => undefined));
});

describe.runIf(isInstalled("promtool"))("by promtool (skipped without it),", () => {
  // One process for all: a failure names its cases.
  it.each(byInterval)("all cases are judged right, evaluated every $interval", ({ interval, asked }) => {
    const file = join(createFolder(), "alerts.test.yaml");
    const tests = asked.map(toRuleTest);
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ rule_files: [alertFile], evaluation_interval: interval, tests }));
    const { stdout, stderr, status } = spawnSync("promtool", ["test", "rules", file], { encoding: "utf8" });
    expect([status, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining("SUCCESS")]);
  });
});
