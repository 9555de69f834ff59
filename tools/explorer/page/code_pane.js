// A text of a level, of which only the lines in view are in the document.
"use strict";

const CODE = new Set(["loops", "llvm", "assembly", "cuda"]);
const LINE = 18, MORE = 12, LONGEST = 1500;
const TOKENS = /("(?:[^"\\]|\\.)*")|(\/\/.*|#\s.*|;.*)|([%^][\w.$]+)|(@[\w.$]+)|(\b[a-z_]+\.[a-z_0-9.]+\b|^\s+[a-z][a-z0-9]+(?=\s))|(\b0x[\da-f]+\b|\b\d[\d.e+-]*\b)/gi;
const CLASSES = ["", "q", "k", "v", "s", "o", "d"];

function coloured(line) {
  const text = line.length > LONGEST ? `${line.slice(0, LONGEST)} …` : line;
  let made = "", at = 0;
  for (const match of text.matchAll(TOKENS)) {
    const group = match.findIndex((part, index) => index && part !== undefined);
    made += `${escaped(text.slice(at, match.index))}<span class="${CLASSES[group]}">${escaped(match[0])}</span>`;
    at = match.index + match[0].length;
  }
  return made + escaped(text.slice(at));
}

class CodePane {
  constructor(page, section, level) {
    this.page = page;
    this.section = section;
    this.level = level;
    this.pass = -1;
    this.cursor = -1;
    section.innerHTML = `<div class="bar"></div><div class="body"><div class="size"></div><div class="rows"></div></div>`;
    [this.bar, this.body] = section.children;
    [this.size, this.rows] = this.body.children;
    this.body.addEventListener("scroll", () => this.drawRows());
    this.rows.addEventListener("click", event => {
      const row = event.target.closest(".row");
      if (row) this.choose(Number(row.dataset.line));
    });
    new ResizeObserver(() => this.drawRows()).observe(this.body);
  }

  get record() { return this.page.recordOf(this); }

  // The lines that are shown: {text, mark, sign}.
  show(level, pass = this.pass) {
    const record = this.record;
    const known = record.textOf[level] || (level === "passes" && record.passes.some(each => each.changes.length));
    this.level = known ? level : record.texts[0].level;
    this.cursor = -1;
    if (this.level === "passes") {
      const changing = record.passes.map((each, id) => id).filter(id => record.passes[id].changes.length);
      this.pass = changing.includes(pass) ? pass : changing[0];
      const changes = record.passes[this.pass].changes;
      this.lines = changes.map(change => change[1]);
      this.marks = changes.map(change => change[2]);
      this.signs = changes.map(change => ({"+": "added", "-": "gone", "@": "place"})[change[0]]);
    } else {
      const text = record.textOf[this.level];
      this.lines = text.lines;
      this.marks = text.marks;
      const changed = this.page.changed(this, this.level);
      this.signs = changed ? changed.map(each => each ? (this.page.recordNumber(this) ? "added" : "gone") : "") : null;
    }
    this.longest = Math.min(LONGEST, this.lines.reduce((most, line) => Math.max(most, line.length), 0));
    this.size.style.height = `${this.lines.length * LINE}px`;
    this.rows.style.width = this.size.style.width = `${this.longest * 7.25 + 80}px`;
    this.drawBar();
    this.highlight();
  }

  drawBar() {
    const record = this.record;
    const levels = [...record.texts.map(text => text.level), "passes"];
    const buttons = levels.map((level, number) =>
      `<button data-level="${level}" class="${level === this.level ? "on" : ""}" title="${number + 1}">${level}</button>`);
    let more = "";
    if (this.level === "passes") {
      const options = record.passes.map((each, id) => each.changes.length
        ? `<option value="${id}" ${id === this.pass ? "selected" : ""}>${escaped(each.name)}  ${each.before}→${each.after} ops</option>` : "");
      more = `<select aria-label="Pass">${options.join("")}</select>`;
    }
    const which = this.page.records.length > 1 && this.page.compared ? `<strong>${"AB"[this.page.recordNumber(this)]}</strong>` : "";
    this.bar.innerHTML = `${which}${buttons.join("")}${more}<span class="told"></span>`;
    this.bar.querySelectorAll("button").forEach(button => { button.onclick = () => this.page.setLevel(this, button.dataset.level); });
    const select = this.bar.querySelector("select");
    if (select) select.onchange = () => { this.show("passes", Number(select.value)); this.page.saveAddress(); };
  }

  // Colours the lines of the selection, and goes to the first of them unless one is in view.
  highlight() {
    const thing = this.page.selectionIn(this.record);
    const strengths = this.record.strengths(thing);
    const own = thing && thing.kind === "line" ? this.record.related(thing).lines[this.level] : null;
    this.strength = new Uint8Array(this.lines.length);
    this.marks.forEach((mark, line) => { if (mark >= 0) this.strength[line] = strengths[mark]; });
    if (own) own.forEach(line => { this.strength[line] = 2; });
    const strong = [], weak = [];
    this.strength.forEach((each, line) => { if (each) (each === 2 ? strong : weak).push(line); });
    this.matches = strong.length ? strong : weak;
    this.bar.querySelector(".told").textContent = thing ? `${this.matches.length}/${this.lines.length}` : `${this.lines.length} lines`;
    const top = this.body.scrollTop / LINE, bottom = top + this.body.clientHeight / LINE - 1;
    if (this.matches.length && !this.matches.some(line => line >= top && line < bottom)) this.goTo(this.place());
    this.drawRows();
  }

  // The match to begin with: the first, or in code, where main's calls come first, that of the largest group.
  place() {
    if (!CODE.has(this.level)) return this.matches[0];
    let best = 0, most = 0, start = 0;
    this.matches.forEach((line, at) => {
      if (at && line - this.matches[at - 1] > 6) start = at;
      if (at - start >= most) [best, most] = [start, at - start + 1];
    });
    return this.matches[best];
  }

  goTo(line) {
    this.body.scrollTop = Math.max(0, (line - 4) * LINE);
    this.drawRows();
  }

  step(direction) {
    if (!this.matches.length) return;
    const at = this.cursor >= 0 ? this.cursor : Math.floor(this.body.scrollTop / LINE) + 4 - (direction > 0 ? 1 : 0);
    const next = direction > 0 ? this.matches.find(line => line > at) ?? this.matches[0]
      : [...this.matches].reverse().find(line => line < at) ?? this.matches.at(-1);
    this.cursor = next;
    this.goTo(next);
  }

  moveCursor(by) {
    const start = this.cursor < 0 ? Math.floor(this.body.scrollTop / LINE) : this.cursor + by;
    this.cursor = Math.max(0, Math.min(this.lines.length - 1, start));
    const top = this.body.scrollTop, y = this.cursor * LINE;
    if (y < top || y > top + this.body.clientHeight - 2 * LINE) this.body.scrollTop = Math.max(0, y - this.body.clientHeight / 2);
    this.drawRows();
  }

  choose(line) {
    this.cursor = line;
    if (this.level === "passes") {
      const mark = this.record.marks[this.marks[line]];
      if (mark && mark.nodes.length) this.page.select({kind: "node", id: mark.nodes[0]});
      else if (mark && mark.tensors.length) this.page.select({kind: "tensor", id: mark.tensors[0]});
      else if (mark && mark.steps.length) this.page.select({kind: "step", id: mark.steps[0]});
    } else {
      this.page.select({kind: "line", level: this.level, id: line}, this.record);
    }
  }

  drawRows() {
    if (!this.lines) return;
    const first = Math.max(0, Math.floor(this.body.scrollTop / LINE) - MORE);
    const last = Math.min(this.lines.length, Math.ceil((this.body.scrollTop + this.body.clientHeight) / LINE) + MORE);
    const names = ["", " weak", " strong"], made = [];
    for (let line = first; line < last; line++) {
      const sign = this.signs ? this.signs[line] : "";
      const cursor = line === this.cursor ? " cursor" : "";
      const number = this.level === "passes" ? ({added: "+", gone: "−"})[sign] ?? "" : line + 1;
      made.push(`<div class="row${names[this.strength[line]]} ${sign}${cursor}" data-line="${line}"><i>${number}</i>${coloured(this.lines[line])}</div>`);
    }
    this.rows.style.transform = `translateY(${first * LINE}px)`;
    this.rows.innerHTML = made.join("");
  }
}
