"use strict";
// Numbers as people read them: three digits that matter, a unit that fits.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
/** For what people have chosen themselves. */
const EXACT = new Intl.NumberFormat("en", { maximumSignificantDigits: 12 });
const THREE_DIGITS = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

/** @param {number} value */
function formatNumber(value) {
  return Math.abs(value) >= 100 ? WHOLE.format(value) : THREE_DIGITS.format(value);
}

/** Short, for axes: `12k`, `1.5M`. @param {number} value */
function formatShort(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${THREE_DIGITS.format(value / 1e9)}G`;
  if (size >= 1e6) return `${THREE_DIGITS.format(value / 1e6)}M`;
  if (size >= 1e4) return `${THREE_DIGITS.format(value / 1e3)}k`;
  return THREE_DIGITS.format(value);
}

/** @param {number} ns */
function formatTime(ns) {
  const size = Math.abs(ns);
  if (size >= 999.5e6) return `${formatNumber(ns / 1e9)} s`;
  if (size >= 999.5e3) return `${formatNumber(ns / 1e6)} ms`;
  if (size >= 999.5) return `${formatNumber(ns / 1e3)} µs`;
  return `${formatNumber(ns)} ns`;
}

/** @param {number} value */
function formatBytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(value) >= 1023.5 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  return `${formatNumber(value)} ${units[unit]}`;
}

/** A time since the start, as on a stopwatch: `45 s`, `2:05`, `1:00:00`. @param {number} seconds */
function formatClock(seconds) {
  if (Math.abs(seconds) < 60) return `${THREE_DIGITS.format(seconds)} s`;
  const whole = Math.round(seconds);
  const two = (/** @type {number} */ part) => String(part).padStart(2, "0");
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** A duration in words: `30 s`, `5 min`, `1 h 30 min`. @param {number} seconds */
function formatDuration(seconds) {
  if (seconds < 120) return `${THREE_DIGITS.format(seconds)} s`;
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.round(seconds) % 60];
  const parts = [hours > 0 ? `${hours} h` : "", minutes > 0 ? `${minutes} min` : "", rest > 0 && hours === 0 ? `${rest} s` : ""];
  return parts.filter(Boolean).join(" ");
}

/** @param {number} share */
function formatPercent(share) {
  return `${THREE_DIGITS.format(share * 100)} %`;
}

const DECIMAL_STEPS = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].flatMap((power) => [1, 2, 2.5, 5].map((step) => step * 10 ** power));
const BINARY_STEPS = [0, 1, 2, 3, 4].flatMap((power) => [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].map((step) => step * 1024 ** power));
const CLOCK_STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

/** @type {Record<"count" | "exact" | "plain" | "rate" | "time" | "bytes" | "byteRate" | "cores" | "clock", Unit>} */
const UNITS = {
  count: { tick: formatShort, full: formatNumber, steps: DECIMAL_STEPS.filter((step) => Number.isInteger(step)) },
  exact: { tick: (value) => EXACT.format(value), full: (value) => EXACT.format(value) },
  plain: { tick: formatShort, full: formatNumber, steps: DECIMAL_STEPS },
  rate: { tick: formatShort, full: (value) => `${formatNumber(value)}/s`, steps: DECIMAL_STEPS },
  time: { tick: (value) => (value === 0 ? "0" : formatTime(value)), full: formatTime, steps: DECIMAL_STEPS.filter((step) => step >= 1) },
  bytes: { tick: (value) => (value === 0 ? "0" : formatBytes(value)), full: formatBytes, steps: BINARY_STEPS },
  byteRate: { tick: (value) => (value === 0 ? "0" : `${formatBytes(value)}/s`), full: (value) => `${formatBytes(value)}/s`, steps: BINARY_STEPS },
  cores: { tick: formatShort, full: (value) => `${THREE_DIGITS.format(value)} CPUs`, steps: DECIMAL_STEPS },
  clock: { tick: formatClock, full: formatClock, steps: CLOCK_STEPS },
};
