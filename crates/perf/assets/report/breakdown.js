"use strict";
// Where the time went: what was measured of a median and of a slow message, on one axis.

/**
 * @typedef {{ label: string, from: number, to: number, colour: number }} Bar
 * @typedef {{ title: string, words: string, bars: Bar[] }} BarGroup
 */

/** @param {Run} run @param {string} subtitle */
function breakdown(run, subtitle) {
  const groups = [
    barGroup("The median message", run.summary.latencies, (percentiles) => percentiles.p50_ns),
    barGroup("The message at p99", run.summary.latencies, (percentiles) => percentiles.p99_ns),
  ].filter((group) => group !== null);
  if (groups.length === 0) return null;
  const title = "From due to done";
  const note = "Each bar is a measurement of its own, so the parts need not add up: the slowest to be confirmed are not always the slowest to arrive.";
  const tools = element("div.tools");
  const figure = element("figure.card.chart.wide", element("figcaption", element("div", element("h3", title), element("p", note)), tools));
  const canvas = document.createElement("canvas");
  const plot = element("div.plot.bars", canvas);
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", groups.map((group) => `${group.title}: ${group.words}`).join(" "));
  const draw = () => {
    const width = plot.clientWidth;
    if (width === 0) return;
    const height = barsHeight(groups, width, 1);
    [canvas.width, canvas.height] = [width * devicePixelRatio, height * devicePixelRatio];
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    ctx.scale(devicePixelRatio, devicePixelRatio);
    paintBars(ctx, groups, { left: 0, top: 0, width, scale: 1 });
  };
  new ResizeObserver(draw).observe(plot);
  redraws.add(draw);
  tools.append(
    button("Save as PNG", () =>
      savePicture(title, async (picture) => {
        const width = PICTURE_WIDTH - 2 * PICTURE_MARGIN;
        const { ctx, top } = paintFrame(picture, 150 + barsHeight(groups, width, 2.1) + PICTURE_MARGIN, `Where the time went: ${title.toLowerCase()}`, subtitle);
        paintBars(ctx, groups, { left: PICTURE_MARGIN, top, width, scale: 2.1 });
      }),
    ),
  );
  const rows = groups.flatMap((group) => group.bars.map((bar) => [group.title, bar.label, formatTime(bar.to - bar.from)]));
  figure.append(plot, ...groups.map((group) => element("p", element("strong", `${group.title}: `), group.words)), disclosure("Table", false, () => dataTable(title, ["", "part", "time"], rows)));
  return figure;
}

/**
 * @param {string} title
 * @param {Summary["latencies"]} latencies
 * @param {(percentiles: Percentiles) => number} pick
 * @returns {BarGroup | null}
 */
function barGroup(title, latencies, pick) {
  const of = (/** @type {Distribution | null} */ distribution) => (distribution ? pick(distribution.percentiles) : null);
  const [late, confirm, confirmSent, consumer, consumerSent] = [latencies.lateness, latencies.confirm, latencies.confirm_sent, latencies.consumer, latencies.consumer_sent].map(of);
  if (consumer === null && confirm === null) return null;
  const sentAt = late ?? 0;
  /** @type {Bar[]} */
  const bars = [];
  if (late !== null) bars.push({ label: "due until sent", from: 0, to: late, colour: 7 });
  if (confirmSent !== null) bars.push({ label: "sent until confirmed", from: sentAt, to: sentAt + confirmSent, colour: 2 });
  if (consumerSent !== null) bars.push({ label: "sent until consumed", from: sentAt, to: sentAt + consumerSent, colour: 3 });
  if (consumer !== null) bars.push({ label: "due until consumed: all of it", from: 0, to: consumer, colour: 1 });
  else if (confirm !== null) bars.push({ label: "due until confirmed: all of it", from: 0, to: confirm, colour: 1 });
  return { title, bars, words: breakdownWords(late, confirmSent, consumerSent, consumer ?? confirm, consumer !== null) };
}

/**
 * @param {number | null} late
 * @param {number | null} confirmSent
 * @param {number | null} consumerSent
 * @param {number | null} all
 * @param {boolean} isConsumed
 */
function breakdownWords(late, confirmSent, consumerSent, all, isConsumed) {
  const sentences = [];
  if (all !== null) sentences.push(`${formatTime(all)} from when it was due ${isConsumed ? "until a consumer had it" : "until it was confirmed"}.`);
  if (late !== null && all !== null && all > 0) {
    const share = late / all < 0.001 ? "less than 0.1 %" : formatPercent(late / all);
    sentences.push(`Messages were sent ${formatTime(late)} late, which is ${share} of that.`);
    if (late > all / 2) sentences.push("Look there first: a full confirm window, a connection that the broker held back, or the generator itself.");
  }
  if (confirmSent !== null && consumerSent !== null) {
    const rest = consumerSent - confirmSent;
    const words = rest >= 0 ? "after its publisher had the confirm: that long it was queued or on its way" : "before its publisher had the confirm";
    sentences.push(`A consumer had it ${formatTime(Math.abs(rest))} ${words}.`);
  }
  return sentences.join(" ");
}

const BAR_ROW = 27;
const BAR_HEAD = 34;

/** Labels stand beside the bars where there is room. @param {number} width @param {number} scale */
function barsAreNarrow(width, scale) {
  return width < 560 * scale;
}

/** @param {BarGroup[]} groups @param {number} width @param {number} scale */
function barsHeight(groups, width, scale) {
  const row = barsAreNarrow(width, scale) ? BAR_ROW + 16 : BAR_ROW;
  return Math.ceil(groups.reduce((sum, group) => sum + BAR_HEAD + group.bars.length * row + 6, 0) * scale);
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {BarGroup[]} groups
 * @param {{ left: number, top: number, width: number, scale: number }} place
 */
function paintBars(ctx, groups, { left, top, width, scale }) {
  const isNarrow = barsAreNarrow(width, scale);
  const labelWidth = isNarrow ? 0 : 220 * scale;
  const valueWidth = 80 * scale;
  const room = width - labelWidth - valueWidth;
  ctx.textBaseline = "middle";
  let y = top;
  for (const group of groups) {
    const most = Math.max(1, ...group.bars.map((bar) => bar.to));
    ctx.fillStyle = colourOf("ink");
    ctx.font = `600 ${14 * scale}px ${FONT}`;
    ctx.fillText(group.title, left, y + (BAR_HEAD / 2) * scale);
    y += BAR_HEAD * scale;
    ctx.font = `${13 * scale}px ${FONT}`;
    for (const bar of group.bars) {
      ctx.fillStyle = colourOf("quiet");
      if (isNarrow) {
        ctx.fillText(bar.label, left, y + 8 * scale);
        y += 16 * scale;
      } else {
        ctx.fillText(bar.label, left, y + (BAR_ROW / 2) * scale);
      }
      const start = left + labelWidth + (bar.from / most) * room;
      // What was measured is seen, however short it is.
      const length = Math.max(2 * scale, ((bar.to - bar.from) / most) * room);
      ctx.fillStyle = colourOf("band");
      ctx.fillRect(left + labelWidth, y + 4 * scale, room, (BAR_ROW - 8) * scale);
      ctx.fillStyle = colourOf(`line-${bar.colour}`);
      ctx.fillRect(start, y + 4 * scale, length, (BAR_ROW - 8) * scale);
      ctx.fillStyle = colourOf("ink");
      ctx.fillText(formatTime(bar.to - bar.from), left + labelWidth + room + 10 * scale, y + (BAR_ROW / 2) * scale);
      y += BAR_ROW * scale;
    }
    y += 6 * scale;
  }
}
