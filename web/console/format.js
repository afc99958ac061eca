// Numbers and times, as people read them.

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const time = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** What stands where nothing is known. */
export const UNKNOWN = "–";

/** @param {unknown} value @returns {value is number} */
export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** 12,345. @param {unknown} value */
export const count = (value) => (isNumber(value) ? grouped.format(value) : UNKNOWN);

/** 1.2 GiB. @param {unknown} value bytes */
export function bytes(value) {
  if (!isNumber(value)) return UNKNOWN;
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, Math.abs(value))) / 10)));
  return `${short.format(value / 1024 ** step)} ${units[step]}`;
}

/** 3.4/s. @param {unknown} value a second */
export const rate = (value) => (isNumber(value) ? `${value >= 1000 ? grouped.format(value) : short.format(value)}/s` : UNKNOWN);

/** 1.5 ms. @param {unknown} value milliseconds */
export function duration(value) {
  if (!isNumber(value)) return UNKNOWN;
  if (value < 1) return `${short.format(value * 1000)} µs`;
  if (value < 1000) return `${short.format(value)} ms`;
  if (value < 120_000) return `${short.format(value / 1000)} s`;
  const minutes = Math.floor(value / 60_000);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`;
}

/** A time of the reader's place. @param {number | string | Date} at milliseconds since 1970, or as text */
export const local = (at) => time.format(new Date(at));

const precise = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });

/** The time of the day, to a thousandth of a second. @param {number | string | Date} at */
export const moment = (at) => precise.format(new Date(at));

/** The same time, of the whole world. @param {number | string | Date} at */
export const utc = (at) => `${new Date(at).toISOString().replace("T", " ").replace(/\.000Z$|Z$/, "")} UTC`;

/** How long ago. @param {number | string | Date} at @param {number} [now] */
export const ago = (at, now = Date.now()) => `${duration(Math.max(0, now - new Date(at).getTime()))} ago`;
