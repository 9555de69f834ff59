// The arena: tensors as rectangles of steps by bytes, and the live bytes below, with the lower bound.
"use strict";

class MemoryPane {
  constructor(page, section) {
    this.page = page;
    this.section = section;
    section.innerHTML = `<div class="bar"><strong>Memory</strong><span class="told" style="margin-left:0"></span></div><div class="body" style="overflow:hidden"></div>`;
    [this.bar, this.body] = section.children;
    this.body.addEventListener("click", event => {
      const rect = event.target.closest("rect.block");
      if (rect && rect.dataset.tensor !== "null") page.select({kind: "tensor", id: Number(rect.dataset.tensor)});
    });
    new ResizeObserver(() => { if (this.drawn) this.show(); }).observe(this.body);
  }

  show() {
    const record = this.page.record, memory = record.memory;
    const [width, height] = [this.body.clientWidth, this.body.clientHeight];
    this.drawn = true;
    const proof = memory.arena === memory.lower_bound ? "proven minimal for this order" : memory.optimal ? "proven minimal" : `lower bound ${bytesText(memory.lower_bound)}`;
    this.bar.querySelector(".told").textContent =
      `arena ${bytesText(memory.arena)}, ${proof}; weights ${bytesText(memory.weights)}, in ${bytesText(memory.inputs)}, out ${bytesText(memory.outputs)}`;
    this.bar.querySelector(".told").title = this.bar.querySelector(".told").textContent;
    const left = 58, right = 6, below = 18, liveHeight = Math.max(24, Math.round(height * 0.2)), gap = 6;
    const top = 4, high = Math.max(30, height - top - below - liveHeight - gap), wide = Math.max(30, width - left - right);
    const steps = Math.max(1, record.steps.length), most = Math.max(1, memory.arena);
    const x = step => left + step / steps * wide, y = bytes => top + high - bytes / most * high;
    this.x = x;
    const hue = tensor => (tensor * 67) % 360;
    const parts = [];
    memory.blocks.forEach((block, at) => {
      const [x0, x1, y0, y1] = [x(block.start), x(block.end), y(block.high), y(block.low)];
      const tensor = block.tensor === null ? null : record.tensors[block.tensor];
      const fill = block.kind === "scratch" ? "hsl(30 25% 72%)" : tensor ? `hsl(${hue(block.tensor)} 48% 76%)` : "hsl(0 0% 80%)";
      const kind = block.kind === "view" || block.kind === "reserved" ? ` ${block.kind}` : "";
      const title = tensor ? `${tensor.name}: ${bytesText(tensor.bytes)}, steps ${tensor.birth} to ${tensor.death - 1}` : "kept for parts to come";
      parts.push(`<rect class="block${kind}" data-at="${at}" data-tensor="${block.tensor}" x="${x0.toFixed(1)}" y="${y0.toFixed(1)}" width="${Math.max(0.5, x1 - x0).toFixed(1)}" height="${Math.max(0.5, y1 - y0).toFixed(1)}" style="fill:${fill}"><title>${escaped(title)}</title></rect>`);
      const room = Math.floor((x1 - x0 - 4) / 5.6);
      if (tensor && block.kind !== "view" && y1 - y0 > 11 && room >= 4) {
        const name = tensor.name.length <= room ? tensor.name : room >= 8 ? shortName(tensor.name, room) : "";
        if (name) parts.push(`<text x="${(x0 + x1) / 2}" y="${(y0 + y1) / 2 + 3.5}" text-anchor="middle">${escaped(name)}</text>`);
      }
    });
    const base = top + high + gap + liveHeight, tall = Math.max(most, memory.lower_bound, 1);
    let path = `M${left} ${base}`;
    record.live().forEach((live, step) => {
      const level = base - live / tall * liveHeight;
      path += `L${x(step).toFixed(1)} ${level.toFixed(1)}L${x(step + 1).toFixed(1)} ${level.toFixed(1)}`;
    });
    parts.push(`<path class="live" d="${path}L${left + wide} ${base}Z"/>`);
    const bound = y(memory.lower_bound);
    parts.push(`<line class="bound" x1="${left}" x2="${left + wide}" y1="${bound}" y2="${bound}"><title>lower bound ${bytesText(memory.lower_bound)}</title></line>`);
    const peak = (x(memory.binding_step) + x(memory.binding_step + 1)) / 2;
    parts.push(`<line class="bound" x1="${peak}" x2="${peak}" y1="${top}" y2="${base}"><title>step ${memory.binding_step} binds</title></line>`);
    parts.push(`<text class="axis" x="${left - 4}" y="${top + 9}" text-anchor="end">${bytesText(memory.arena)}</text>`);
    parts.push(`<text class="axis" x="${left - 4}" y="${top + high}" text-anchor="end">0</text>`);
    parts.push(`<text class="axis" x="${left - 4}" y="${base}" text-anchor="end">live</text>`);
    parts.push(`<text class="axis" x="${left}" y="${height - 5}">step 0</text>`);
    parts.push(`<text class="axis" x="${left + wide}" y="${height - 5}" text-anchor="end">${steps - 1}</text>`);
    if (peak > left + 60 && peak < left + wide - 60) {
      parts.push(`<text class="axis" x="${peak}" y="${height - 5}" text-anchor="middle">step ${memory.binding_step} binds</text>`);
    }
    parts.push(`<g class="marks"></g>`);
    this.body.innerHTML = `<svg width="${width}" height="${height}">${parts.join("")}</svg>`;
    this.high = [top, base];
    this.highlight();
  }

  highlight() {
    if (!this.drawn) return;
    const record = this.page.record, thing = this.page.selection, related = record.related(thing);
    let own = thing && thing.kind === "tensor" ? new Set([thing.id]) : related.tensors;
    const sames = new Set([...own].map(id => record.tensors[id].same).filter(id => id !== null));
    if (![...own, ...sames].some(id => record.tensors[id].offset !== null) && related.steps.size <= 12) {
      own = new Set([...related.steps].flatMap(step => record.steps[step].writes));  // of what it is computed in
    }
    const shared = new Set([...own].flatMap(id => record.tensors[id].shared));
    this.body.querySelectorAll("rect.block").forEach(rect => {
      const tensor = Number(rect.dataset.tensor);
      const known = rect.dataset.tensor !== "null";
      rect.classList.toggle("strong", known && (own.has(tensor) || sames.has(tensor)));
      rect.classList.toggle("weak", known && !own.has(tensor) && shared.has(tensor));
    });
    const steps = related.steps.size <= 12 ? [...related.steps] : [];
    this.body.querySelector(".marks").innerHTML = steps.map(step =>
      `<rect class="steps" x="${this.x(step)}" width="${Math.max(1.5, this.x(step + 1) - this.x(step))}" y="${this.high[0]}" height="${this.high[1] - this.high[0]}"/>`).join("");
  }
}
