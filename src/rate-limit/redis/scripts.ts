import { createHash } from "node:crypto";
import {
  banLengthsMs,
  cleanMs,
  day,
  lastBanStep,
  minute,
  noUsage,
  type Usage,
  type Window,
} from "../../domain/limits.ts";

/** A Lua script, which Valkey runs as one step. It uses one key, so that a cluster can run it, too. */
export interface Script {
  readonly source: string;
  /** The SHA-1 of the source, by which a server knows a script that it has seen. */
  readonly sha: string;
}

/** Makes a script of Lua. */
export function createScript(source: string): Script {
  return { source, sha: createHash("sha1").update(source).digest("hex") };
}

/** The scripts of the limits. */
export interface LimitScripts {
  /**
   * Charges requests of a key. Arguments: how many (0 only reads), the limit of a minute and of a day, the refusals that
   * lead to a ban, and the key's `unbans`. Returns the time and the usage before, as `parseUsageReply` reads it.
   */
  readonly chargeKey: Script;
  /**
   * Charges requests of a network. Arguments: how many, and the limit of a minute. Returns the time and the window
   * before, as `parseWindowReply` reads it.
   */
  readonly chargeNetwork: Script;
  /**
   * Takes a place for a stream of a key. Arguments: the stream's name, the largest number of places, and how long the
   * place is taken, in milliseconds. Returns whether there was one left, as 1 or 0.
   */
  readonly takePlace: Script;
  /** Renews places of a key. Arguments: how long, in milliseconds, and the names of the streams. */
  readonly keepPlaces: Script;
  /** Gives back a place of a key. Argument: the name of the stream. */
  readonly leavePlace: Script;
}

/** The server's clock, in whole milliseconds since the Unix epoch. */
const serverClock = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** Makes the scripts. `clock` is Lua that sets `now`; only tests give another than `serverClock`. */
export function createScripts(clock = serverClock): LimitScripts {
  const script = (body: string) => createScript(`${clock}\n${read}\n${body}`);
  return {
    chargeKey: script(`${windowAt}\n${chargeKey}`),
    chargeNetwork: script(`${windowAt}\n${chargeNetwork}`),
    takePlace: script(takePlace),
    keepPlaces: script(keepPlaces),
    leavePlace: script(leavePlace),
  };
}

/**
 * Reads the script's key by a command. A value of another type, which none of these scripts has written, is deleted:
 * otherwise this key could never be counted again. `PEXPIRE` needs no right beyond those that the scripts have.
 */
const read = `
local function read(command)
  local reply = redis.pcall(command, KEYS[1])
  if type(reply) ~= 'table' then return reply end
  if string.find(reply.err, '^WRONGTYPE') then redis.call('PEXPIRE', KEYS[1], 0) end
  return redis.call(command, KEYS[1])
end`;

/** `windowAt` of `domain/limits.ts` in Lua. A count of 0 means that there is no window. */
const windowAt = `
local function windowAt(openedAt, count, length)
  if count == 0 or now >= openedAt + length then return 0, 0 end
  return math.min(openedAt, now), count
end`;

/**
 * `decide` of `domain/limits.ts` in Lua, because it has to run where the counts are. The tests run both on the same
 * histories.
 *
 * A usage is nine numbers: opening and count of the minute, of the day and of the refusals; step and end of the ban;
 * the unbans. It expires when none of them has an effect any more. Any other text counts as no usage.
 */
const chargeKey = `
local banLengths = {${banLengthsMs.join(", ")}}
local clean, minuteLength, dayLength = ${cleanMs}, ${minute.lengthMs}, ${day.lengthMs}

local known = read('GET')
if known and not string.find(known, '^%d+ %d+ %d+ %d+ %d+ %d+ [0-${lastBanStep}] %d+ %d+$') then known = false end
local reply = string.format('%.0f %s', now, known or '')
local requests = tonumber(ARGV[1])
if requests == 0 then return reply end
local perMinute, perDay, refusalsForBan = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local unbans = tonumber(ARGV[5])

local usage = {}
for number in string.gmatch(known or '0 0 0 0 0 0 0 0 0', '%d+') do usage[#usage + 1] = tonumber(number) end
local minuteAt, minutes = windowAt(usage[1], usage[2], minuteLength)
local dayAt, days = windowAt(usage[3], usage[4], dayLength)
local refusalsAt, refusals = windowAt(usage[5], usage[6], minuteLength)
local step, banEnds, knownUnbans = usage[7], usage[8], usage[9]

if unbans > knownUnbans then
  refusalsAt, refusals, knownUnbans = 0, 0, unbans
  banEnds = math.min(banEnds, now)
end
if step > 0 then banEnds = math.min(banEnds, now + banLengths[step]) end

for request = 1, requests do
  if step > 0 and now < banEnds then break end
  if minutes < perMinute and days < perDay then
    if minutes == 0 then minuteAt = now end
    if days == 0 then dayAt = now end
    minutes, days = minutes + 1, days + 1
  else
    if refusals == 0 then refusalsAt = now end
    refusals = refusals + 1
    if refusals >= refusalsForBan then
      local stepsBack = math.max(0, math.floor((now - banEnds) / clean))
      step = math.min(math.max(0, step - stepsBack) + 1, #banLengths)
      banEnds = now + banLengths[step]
      refusalsAt, refusals = 0, 0
    end
  end
end

local function left(count, openedAt, length) return count > 0 and openedAt + length - now or 0 end
local keep = math.max(1,
  left(minutes, minuteAt, minuteLength), left(days, dayAt, dayLength), left(refusals, refusalsAt, minuteLength),
  left(step, banEnds, step * clean))
local next = string.format('%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f %.0f',
  minuteAt, minutes, dayAt, days, refusalsAt, refusals, step, banEnds, knownUnbans)
if next ~= known then redis.call('SET', KEYS[1], next, 'PX', keep) end
return reply`;

/**
 * `decideAnonymous` of `domain/limits.ts` in Lua. A window is its opening and its count. Any other text counts as no
 * window.
 */
const chargeNetwork = `
local length = ${minute.lengthMs}
local known = read('GET')
if known and not string.find(known, '^%d+ %d+$') then known = false end
local knownAt, knownCount = string.match(known or '0 0', '(%d+) (%d+)')
local openedAt, count = windowAt(tonumber(knownAt), tonumber(knownCount), length)
if count == 0 then openedAt = now end
local counted = math.max(count, math.min(count + tonumber(ARGV[1]), tonumber(ARGV[2])))
local next = string.format('%.0f %.0f', openedAt, counted)
if next ~= known then redis.call('SET', KEYS[1], next, 'PX', openedAt + length - now) end
return string.format('%.0f %s', now, known or '')`;

/** A place may end later than a new one by so many milliseconds, as Valkey's clock may be set back by a little. */
const maxClockStepMs = 10_000;

/**
 * The places of a key are a sorted set of stream names. The score is the time at which the place is free again. A time
 * that is too far ahead was written before Valkey's clock was set back. Such a place is given up, and `keepPlaces` takes
 * it again if its stream is still open.
 */
const takePlace = `
read('ZCARD')
local latest = now + ARGV[3]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. latest + ${maxClockStepMs}, '+inf')
local isFree = redis.call('ZCARD', KEYS[1]) < tonumber(ARGV[2])
if isFree then redis.call('ZADD', KEYS[1], latest, ARGV[1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return isFree and 1 or 0`;

const keepPlaces = `
read('ZCARD')
for argument = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[argument]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`;

const leavePlace = `
read('ZCARD')
return redis.call('ZREM', KEYS[1], ARGV[1])`;

/** What a script has found, and when. */
export interface Reply<State> {
  /** By Valkey's clock, in milliseconds since the Unix epoch. */
  readonly nowMs: number;
  /** As it stood before the script charged anything. */
  readonly before: State;
}

/** Reads the reply of `chargeKey`. */
export function parseUsageReply(text: string): Reply<Usage> {
  const [nowMs = 0, ...numbers] = numbersOf(text);
  if (numbers.length === 0) {
    return { nowMs, before: noUsage };
  }
  const [minuteAt, minutes, dayAt, days, refusalsAt, refusals, step = 0, endsAtMs = 0, unbans = 0] = numbers;
  return {
    nowMs,
    before: {
      minute: toWindow(minuteAt, minutes),
      day: toWindow(dayAt, days),
      refusals: toWindow(refusalsAt, refusals),
      ban: step === 0 ? undefined : { step, endsAtMs },
      unbans,
    },
  };
}

/** Reads the reply of `chargeNetwork`. */
export function parseWindowReply(text: string): Reply<Window | undefined> {
  const [nowMs = 0, openedAtMs, count] = numbersOf(text);
  return { nowMs, before: toWindow(openedAtMs, count) };
}

/** Undefined for a count of 0, which means that there is no window. */
function toWindow(openedAtMs = 0, count = 0): Window | undefined {
  return count === 0 ? undefined : { openedAtMs, count };
}

function numbersOf(text: string): number[] {
  return text.trimEnd().split(" ").map(Number);
}
