"use strict";
// Pictures for pasting: 1,800 pixels wide, with title, legend and what was measured, whatever the screen.

const PICTURE_WIDTH = 1800;
const PICTURE_HEIGHT = 1000;
const PICTURE_MARGIN = 48;

/**
 * @param {string} title
 * @param {(picture: HTMLCanvasElement) => Promise<void>} paint
 */
async function savePicture(title, paint) {
  const picture = document.createElement("canvas");
  await paint(picture);
  /** @type {Blob | null} */
  const blob = await new Promise((resolve) => picture.toBlob(resolve, "image/png"));
  if (blob === null) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${fileName(`${document.title} ${title}`)}.png`;
  link.click();
  // The browser has opened it by then; what is never revoked is kept in memory as long as the page.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** @param {string} text */
function fileName(text) {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 100) || "chart";
}

/**
 * The frame of a picture. Returns where what is shown may begin.
 *
 * @param {HTMLCanvasElement} picture
 * @param {number} height
 * @param {string} title
 * @param {string} subtitle
 */
function paintFrame(picture, height, title, subtitle) {
  picture.width = PICTURE_WIDTH;
  picture.height = height;
  const ctx = /** @type {CanvasRenderingContext2D} */ (picture.getContext("2d"));
  const width = PICTURE_WIDTH - 2 * PICTURE_MARGIN;
  ctx.fillStyle = colourOf("card");
  ctx.fillRect(0, 0, picture.width, picture.height);
  ctx.textBaseline = "alphabetic";
  ctx.fillStyle = colourOf("ink");
  ctx.font = `650 44px ${FONT}`;
  ctx.fillText(shorten(ctx, title, width), PICTURE_MARGIN, 82);
  ctx.fillStyle = colourOf("quiet");
  ctx.font = `26px ${FONT}`;
  ctx.fillText(shorten(ctx, subtitle, width), PICTURE_MARGIN, 124);
  return { ctx, top: 150 };
}

/** @param {CanvasRenderingContext2D} ctx @param {string} text @param {number} width */
function shorten(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 0 && ctx.measureText(`${text.slice(0, end)}…`).width > width) end -= 1;
  return `${text.slice(0, end)}…`;
}

/** @param {HTMLCanvasElement} picture @param {ChartSpec} spec @param {boolean} isLog @param {Set<number>} hidden */
async function paintChart(picture, spec, isLog, hidden) {
  const { ctx, top } = paintFrame(picture, PICTURE_HEIGHT, spec.title, spec.subtitle);
  const legendEnd = paintLegend(ctx, spec.lines.filter((_, index) => !hidden.has(index)), top);
  const ratio = devicePixelRatio;
  const room = { width: PICTURE_WIDTH - 2 * PICTURE_MARGIN, height: PICTURE_HEIGHT - legendEnd - PICTURE_MARGIN + 12 };
  const parent = document.createElement("div");
  const drawn = await new Promise((resolve) => {
    const size = { width: room.width / ratio, height: room.height / ratio };
    makePlot(spec, { isLog, hidden, scale: 2.1 / ratio, ...size, onDrawn: resolve }, parent);
  });
  ctx.drawImage(drawn.ctx.canvas, PICTURE_MARGIN, legendEnd, room.width, room.height);
  drawn.destroy();
}

/** Returns where it ends. @param {CanvasRenderingContext2D} ctx @param {Line[]} lines @param {number} top */
function paintLegend(ctx, lines, top) {
  ctx.font = `28px ${FONT}`;
  ctx.textBaseline = "middle";
  let x = PICTURE_MARGIN;
  let y = top + 22;
  for (const line of lines) {
    const width = 56 + ctx.measureText(line.label).width + 40;
    if (x + width > PICTURE_WIDTH - PICTURE_MARGIN && x > PICTURE_MARGIN) {
      x = PICTURE_MARGIN;
      y += 42;
    }
    ctx.strokeStyle = colourOf(`line-${line.colour}`);
    ctx.lineWidth = 6;
    ctx.setLineDash(line.dashed ? [12, 8] : []);
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x + 44, y);
    ctx.stroke();
    ctx.fillStyle = colourOf("ink");
    ctx.fillText(line.label, x + 56, y);
    x += width;
  }
  ctx.setLineDash([]);
  return y + 40;
}
