"use strict";
(() => {
  const LEFT = 10, WIDTH = 1180, LETTER = 6.6, PADDING = 3;
  const byId = (id) => document.getElementById(id);
  const blocks = [...document.querySelectorAll(".block")].map((element) => {
    const [title, rect, text] = element.children;
    const says = title.textContent;
    return {
      element, rect, text, says,
      name: says.slice(0, says.lastIndexOf(": ")),
      start: (rect.x.baseVal.value - LEFT) / WIDTH,
      share: rect.width.baseVal.value / WIDTH,
      y: rect.y.baseVal.value,
    };
  });
  let pattern = null;

  function place(block, start, share) {
    const x = LEFT + start * WIDTH, width = share * WIDTH;
    block.rect.setAttribute("x", x.toFixed(2));
    block.rect.setAttribute("width", width.toFixed(2));
    block.text.setAttribute("x", (x + PADDING).toFixed(2));
    const room = Math.floor(Math.max(0, width - 2 * PADDING) / LETTER);
    const letters = [...block.name];
    block.text.textContent = letters.length <= room ? block.name : room < 3 ? "" : letters.slice(0, room - 2).join("") + "..";
  }

  // Shows one block as wide as the whole, what is beneath it as wide, and what stands on it in proportion.
  function widen(chosen) {
    const end = chosen.start + chosen.share, slack = 0.005 / WIDTH;
    for (const block of blocks) {
      const isBeneath = block.y > chosen.y && block.start <= chosen.start + slack && block.start + block.share >= end - slack;
      const isOn = block.y <= chosen.y && block.start >= chosen.start - slack && block.start + block.share <= end + slack;
      block.element.style.display = isBeneath || isOn ? "" : "none";
      block.element.classList.toggle("beneath", isBeneath);
      if (isBeneath) place(block, 0, 1);
      else if (isOn) place(block, (block.start - chosen.start) / chosen.share, block.share / chosen.share);
    }
    byId("whole").setAttribute("visibility", chosen === blocks[0] ? "hidden" : "visible");
  }

  // Marks functions whose names match, and says which share of the whole they take: a block on one that is counted is not counted again.
  function search(text) {
    try {
      pattern = text ? new RegExp(text, "i") : null;
    } catch {
      pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
    }
    let share = 0, count = 0;
    const counted = [];
    for (const block of blocks) {
      const isFound = pattern !== null && pattern.test(block.name);
      block.element.classList.toggle("found", isFound);
      if (!isFound) continue;
      count += 1;
      const slack = 0.005 / WIDTH;
      const isOnCounted = counted.some((other) => other.start <= block.start + slack && other.start + other.share >= block.start + block.share - slack);
      if (!isOnCounted) {
        counted.push(block);
        share += block.share;
      }
    }
    byId("found").textContent = pattern === null ? "" : `${count} found, ${(share * 100).toFixed(2)}%`;
    byId("search").textContent = pattern === null ? "Search" : "Forget";
  }

  function ask() {
    if (pattern !== null) return search("");
    const text = prompt("Functions whose names have this (a regular expression may be given):", "");
    if (text) search(text);
  }

  for (const block of blocks) {
    block.element.addEventListener("click", () => widen(block));
    block.element.addEventListener("mouseover", () => { byId("says").textContent = block.says; });
    block.element.addEventListener("mouseout", () => { byId("says").textContent = ""; });
  }
  byId("whole").addEventListener("click", () => widen(blocks[0]));
  byId("search").addEventListener("click", ask);
  window.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "f") { event.preventDefault(); ask(); }
    if (event.key === "Escape" && blocks.length > 0) widen(blocks[0]);
  });
  window.flame = { blocks, widen, search };
})();
