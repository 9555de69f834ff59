// The page: one selection that goes through all panes, its address, search and keys.
"use strict";

class Explorer {
  constructor(facts) {
    this.records = facts.records.map(each => new CompileRecord(each));
    this.changes = facts.changes;  // by level, for two compiles: [flags of A's lines, flags of B's]
    this.at = 0;
    this.compared = this.records.length > 1;
    this.selection = null;
    const section = id => document.getElementById(id);
    this.left = new CodePane(this, section("left"), "graph");
    this.right = new CodePane(this, section("right"), this.compared ? "graph" : "assembly");
    this.graph = new GraphPane(this, section("graph"));
    this.memory = new MemoryPane(this, section("memory"));
    this.times = new TimePane(this, section("times"));
    this.details = new Details(this, section("details"));
    this.used = this.left;
    for (const pane of [this.left, this.right]) pane.section.addEventListener("pointerdown", () => { this.used = pane; });
    for (const pane of [this.left, this.right]) pane.section.addEventListener("focusin", () => { this.used = pane; });
    this.theme = document.documentElement;
    if (matchMedia("(prefers-color-scheme: dark)").matches) this.theme.classList.add("dark");
    section("theme").onclick = () => this.theme.classList.toggle("dark");
    section("help").onclick = () => { section("keys").hidden = !section("keys").hidden; };
    this.search = new Search(this);
    this.drawHead();
    this.readAddress();
    addEventListener("hashchange", () => this.readAddress());
    addEventListener("keydown", event => this.key(event));
  }

  get record() { return this.records[this.at]; }
  recordNumber(pane) { return this.compared ? Number(pane === this.right) : this.at; }
  recordOf(pane) { return this.records[this.recordNumber(pane)]; }

  // The selection in a record: for a comparison's other compile the thing of the same name.
  selectionIn(record) {
    return record === this.record ? this.selection : this.record.sameIn(record, this.selection);
  }

  changed(pane, level) {
    return this.compared && this.changes[level] ? this.changes[level][this.recordNumber(pane)] : null;
  }

  drawHead() {
    const record = this.record;
    document.getElementById("title").textContent = record.title;
    const time = record.run_us === null ? "" : ` · ${timeText(record.run_us)}`;
    document.getElementById("facts").textContent =
      `${counted(record.nodes.length, "node")} · ${counted(record.steps.length, "kernel call")} · arena ${bytesText(record.memory.arena)}${time} · for ${cpuOf(record)}`;
    document.getElementById("facts").title = record.target;
    const buttons = document.getElementById("records");
    buttons.innerHTML = this.records.length < 2 ? "" : this.records.map((each, number) =>
      `<button data-number="${number}" class="${number === this.at ? "on" : ""}" title="${escaped(each.label)}">${"AB"[number]}: ${escaped(each.label.slice(0, 26))}</button>`).join("");
    buttons.querySelectorAll("button").forEach(button => { button.onclick = () => this.setRecord(Number(button.dataset.number)); });
  }

  setRecord(number) {
    if (number === this.at) return;
    const same = this.record.sameIn(this.records[number], this.selection);
    this.at = number;
    this.selection = same;
    this.drawHead();
    this.graph.show();
    this.memory.show();
    this.times.show();
    this.refresh();
    this.saveAddress();
  }

  select(thing, record = this.record) {
    if (record !== this.record) {
      this.at = this.records.indexOf(record);
      this.drawHead();
      this.graph.show();
      this.memory.show();
      this.times.show();
    }
    if (thing?.kind === "line") thing.within = [...this.record.related(this.selection).steps];
    this.selection = thing;
    this.refresh();
    this.saveAddress(true);
  }

  refresh() {
    for (const pane of [this.left, this.right, this.graph, this.memory, this.times]) pane.highlight();
    this.details.show();
  }

  setLevel(pane, level) {
    this.used = pane;
    for (const each of this.compared ? [this.left, this.right] : [pane]) each.show(level);
    this.saveAddress();
  }

  showPass(id) {
    const pane = this.compared ? (this.at ? this.right : this.left) : this.used;
    pane.show("passes", id);
    this.saveAddress();
  }

  address() {
    const parts = new URLSearchParams();
    if (this.selection) parts.set(this.selection.kind, this.record.nameOf(this.selection));
    for (const [name, pane] of [["left", this.left], ["right", this.right]]) {
      parts.set(name, pane.level === "passes" ? `passes:${this.recordOf(pane).passes[pane.pass].name}` : pane.level);
    }
    if (this.graph.kind !== "node") parts.set("graph", "kernels");
    if (this.at) parts.set("compile", "B");
    return `#${parts}`;
  }

  saveAddress(further = false) {
    const address = this.address();
    if (address === location.hash) return;
    this.own = true;
    if (further) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }

  readAddress() {
    const parts = new URLSearchParams(location.hash.slice(1));
    this.at = parts.get("compile") === "B" && this.records.length > 1 ? 1 : 0;
    this.selection = null;
    for (const kind of ["node", "tensor", "step", "line"]) {
      if (parts.has(kind)) this.selection = this.record.named(kind, parts.get(kind));
    }
    for (const [name, pane] of [["left", this.left], ["right", this.right]]) {
      const [level, pass] = (parts.get(name) ?? pane.level).split(":");
      pane.show(level, pass ? this.recordOf(pane).passes.findIndex(each => each.name === pass && each.changes.length) : pane.pass);
    }
    this.drawHead();
    this.graph.show(parts.get("graph") === "kernels" ? "step" : "node");
    this.memory.show();
    this.times.show();
    this.details.show();
  }

  key(event) {
    const keys = document.getElementById("keys"), pane = this.used;
    if (event.target.id === "query") return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = this.record.related(this.selection).steps;
    const current = steps.size ? Math.min(...steps) : -1;
    const levels = [...this.recordOf(pane).texts.map(text => text.level), "passes"];
    const actions = {
      "/": () => document.getElementById("query").focus(),
      "?": () => { keys.hidden = !keys.hidden; },
      Escape: () => {
        const whole = document.querySelector(".whole");
        if (!keys.hidden) keys.hidden = true;
        else if (whole) whole.classList.remove("whole");
        else this.select(null);
      },
      n: () => pane.step(1),
      p: () => pane.step(-1),
      ArrowDown: () => pane.moveCursor(1),
      ArrowUp: () => pane.moveCursor(-1),
      Enter: () => { if (pane.cursor >= 0) pane.choose(pane.cursor); },
      ArrowRight: () => this.select({kind: "step", id: Math.min(this.record.steps.length - 1, current + 1)}),
      ArrowLeft: () => this.select({kind: "step", id: Math.max(0, current - 1)}),
      g: () => { this.graph.show(this.graph.kind === "node" ? "step" : "node"); this.saveAddress(); },
      c: () => this.setRecord((this.at + 1) % this.records.length),
      d: () => this.theme.classList.toggle("dark"),
      f: () => {
        const section = document.activeElement.closest("section") ?? pane.section;
        section.classList.toggle("whole");
      },
    };
    const level = levels[Number(event.key) - 1];
    if (level && /^[1-9]$/.test(event.key)) this.setLevel(pane, level);
    else if (actions[event.key] && event.target.tagName !== "SELECT") actions[event.key]();
    else return;
    event.preventDefault();
  }
}

class Search {
  constructor(page) {
    this.page = page;
    this.input = document.getElementById("query");
    this.list = document.getElementById("found");
    this.input.addEventListener("input", () => this.find());
    this.input.addEventListener("keydown", event => this.key(event));
    this.input.addEventListener("blur", () => setTimeout(() => { this.list.hidden = true; }, 150));
    this.list.addEventListener("pointerdown", event => {
      const row = event.target.closest("div[data-at]");
      if (row) this.choose(Number(row.dataset.at));
    });
  }

  find() {
    const text = this.input.value.trim().toLowerCase(), record = this.page.record, found = [];
    if (text) {
      const names = [
        ["node", record.nodes.map(each => each.name), record.nodes.map(each => each.operator)],
        ["tensor", record.tensors.map(each => each.name), record.tensors.map(each => each.role)],
        ["step", record.steps.map(each => each.kernel), record.steps.map(each => each.schedule)],
      ];
      for (const [kind, each, told] of names) {
        each.forEach((name, id) => {
          const at = name.toLowerCase().indexOf(text), told_ = told[id].toLowerCase() === text;
          if (at >= 0 || told_) found.push({kind, id, name, told: told[id], rank: name.toLowerCase() === text ? 0 : at === 0 ? 1 : at > 0 ? 2 : 3});
        });
      }
      found.sort((a, b) => a.rank - b.rank || a.name.length - b.name.length);
      found.length = Math.min(found.length, 40);
      for (const pane of [this.page.left, this.page.right]) {
        const lines = pane.lines.map((line, id) => id).filter(id => pane.lines[id].toLowerCase().includes(text));
        if (lines.length) found.push({kind: "text", pane, id: lines[0], lines, name: `${lines.length} lines of ${pane.level}`, told: pane === this.page.left ? "left" : "right"});
      }
    }
    this.found = found;
    this.at = 0;
    this.draw();
  }

  draw() {
    this.list.hidden = !this.found.length;
    this.list.innerHTML = this.found.map((each, at) =>
      `<div data-at="${at}" role="option" class="${at === this.at ? "at" : ""}" title="${escaped(each.name)}"><b>${each.kind === "step" ? "kernel" : each.kind}</b> ${escaped(each.kind === "step" ? `${each.name} · step ${each.id}` : each.name)} <span class="k">${escaped(each.told)}</span></div>`).join("");
    this.list.querySelector(".at")?.scrollIntoView({block: "nearest"});
  }

  key(event) {
    if (event.key === "Escape") { this.input.value = ""; this.list.hidden = true; this.input.blur(); }
    else if (event.key === "Enter" && this.found?.length) this.choose(this.at);
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!this.found?.length) return;
      this.at = (this.at + (event.key === "ArrowDown" ? 1 : this.found.length - 1)) % this.found.length;
      this.draw();
      event.preventDefault();
    }
    event.stopPropagation();
  }

  choose(at) {
    const {kind, id, pane, lines} = this.found[at];
    this.list.hidden = true;
    this.input.blur();
    if (kind !== "text") { this.page.select({kind, id}); return; }
    this.page.used = pane;
    pane.matches = lines;
    pane.cursor = id;
    pane.goTo(id);
    pane.section.focus();
  }
}

async function begin() {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), each => each.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  window.explorer = new Explorer(JSON.parse(await new Response(stream).text()));
  document.documentElement.dataset.ready = "true";
}

begin();
