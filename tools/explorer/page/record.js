// A compile record with the indexes that panes ask. Things are {kind, id}: a node, a tensor, a step; or a line of a text.
"use strict";

class CompileRecord {
  constructor(facts) {
    Object.assign(this, facts);
    this.textOf = Object.assign(Object.create(null), ...this.texts.map(text => ({[text.level]: text})));
    this.node = new Map(this.nodes.map((node, id) => [node.name, id]));
    this.tensor = new Map(this.tensors.map((tensor, id) => [tensor.name, id]));
    this.below = {};  // by level, the lines of the next level that were made from each line
    for (const text of this.texts) {
      if (!text.sources.length) continue;
      const made = this.below[text.level] = new Map();
      text.sources.forEach((source, line) => {
        if (source) made.has(source - 1) ? made.get(source - 1).push(line) : made.set(source - 1, [line]);
      });
    }
  }

  nameOf(thing) {
    switch (thing.kind) {
      case "node": return this.nodes[thing.id].name;
      case "tensor": return this.tensors[thing.id].name;
      case "step": return `${thing.id}:${this.steps[thing.id].kernel}`;
      default: return `${thing.level}:${thing.id + 1}`;
    }
  }

  // The thing of a name as in the page's address; null if there is none.
  named(kind, name) {
    if (kind === "node" || kind === "tensor") {
      const id = this[kind].get(name);
      return id === undefined ? null : {kind, id};
    }
    const [, level, digits] = /^(?:([a-z]+):)?(\d+)/.exec(name) ?? [];
    if (kind === "step") return !level && Number(digits) < this.steps.length ? {kind, id: Number(digits)} : null;
    const text = this.textOf[level], id = Number(digits) - 1;
    return kind === "line" && text && id >= 0 && id < text.lines.length ? {kind, level, id} : null;
  }

  // The same thing in another compile, by its names; null where it has none.
  sameIn(other, thing) {
    if (!thing || thing.kind === "line") return null;
    if (thing.kind !== "step") return other.named(thing.kind, this.nameOf(thing));
    const step = this.steps[thing.id];
    const names = step.nodes.map(id => this.nodes[id].name);
    const id = other.steps.findIndex(each => each.nodes.some(node => names.includes(other.nodes[node].name)));
    return id < 0 ? null : {kind: "step", id};
  }

  // What belongs to a thing: nodes, steps and tensors, and for a line those lines of other levels that it is tied to.
  related(thing) {
    const found = {nodes: new Set(), steps: new Set(), tensors: new Set(), lines: {}};
    if (!thing) return found;
    if (thing.kind === "node") {
      const node = this.nodes[thing.id];
      found.nodes.add(thing.id);
      node.steps.forEach(id => found.steps.add(id));
      node.outputs.forEach(id => found.tensors.add(id));
    } else if (thing.kind === "tensor") {
      const tensor = this.tensors[thing.id];
      found.tensors.add(thing.id);
      if (tensor.node !== null) found.nodes.add(tensor.node);
      tensor.steps.forEach(id => found.steps.add(id));
    } else if (thing.kind === "step") {
      const step = this.steps[thing.id];
      found.steps.add(thing.id);
      step.nodes.forEach(id => found.nodes.add(id));
      step.writes.forEach(id => found.tensors.add(id));
    } else {
      const mark = this.marks[this.textOf[thing.level].marks[thing.id]];
      if (mark) {
        // Code that several calls share is seen as that of the call from which the line was chosen.
        const chosen = mark.steps.filter(id => thing.within?.includes(id)), steps = chosen.length ? chosen : mark.steps;
        mark.nodes.forEach(id => found.nodes.add(id));
        steps.forEach(id => { found.steps.add(id); this.steps[id].nodes.forEach(node => found.nodes.add(node)); });
        const own = new Set(chosen.flatMap(id => [...this.steps[id].reads, ...this.steps[id].writes, ...this.steps[id].scratch]));
        const tensors = mark.tensors.filter(id => own.has(id));
        (tensors.length ? tensors : mark.tensors).forEach(id => found.tensors.add(id));
        found.shared = mark.steps.length - steps.length;
      }
      this.tieLines(thing, found.lines);
    }
    return found;
  }

  // The lines that a line of loops, LLVM IR or assembly was made from, and those made from it.
  tieLines(thing, lines) {
    const order = ["loops", "llvm", "assembly"], start = order.indexOf(thing.level);
    lines[thing.level] = new Set([thing.id]);
    if (start < 0) return;
    for (let at = start; at > 0; at--) {
      const text = this.textOf[order[at]];
      const above = [...lines[order[at]]].map(line => text.sources[line] - 1).filter(line => line >= 0);
      if (!above.length) break;
      lines[order[at - 1]] = new Set(above);
    }
    for (let at = start; at + 1 < order.length; at++) {
      const made = this.below[order[at + 1]];
      if (!made || !lines[order[at]]) break;
      const under = [...lines[order[at]]].flatMap(line => made.get(line) ?? []);
      if (!under.length) break;
      lines[order[at + 1]] = new Set(under);
    }
  }

  // By mark, how strongly a line with it belongs to a thing: 2 it is about the thing itself, 1 about what makes it.
  strengths(thing) {
    const strengths = new Uint8Array(this.marks.length);
    if (!thing) return strengths;
    const related = this.related(thing);
    const any = (ids, set) => ids.some(id => set.has(id));
    const users = thing.kind === "tensor"
      ? new Set([...this.tensors[thing.id].steps, ...this.tensors[thing.id].read_at]) : null;
    this.marks.forEach((mark, number) => {
      if (thing.kind === "node") {
        if (mark.nodes.includes(thing.id)) strengths[number] = 2;
        else if (!mark.nodes.length && any(mark.steps, related.steps)) strengths[number] = 2;
        else if (any(mark.steps, related.steps)) strengths[number] = 1;
        else if (!mark.nodes.length && !mark.steps.length && any(mark.tensors, related.tensors)) strengths[number] = 1;
      } else if (thing.kind === "tensor") {
        if (mark.tensors.includes(thing.id) && (!mark.steps.length || any(mark.steps, users))) strengths[number] = 2;
        else if (any(mark.steps, related.steps) || (!mark.steps.length && any(mark.nodes, related.nodes))) strengths[number] = 1;
      } else if (thing.kind === "step") {
        if (mark.steps.includes(thing.id) || (!mark.steps.length && any(mark.nodes, related.nodes))) strengths[number] = 2;
        else if (!mark.steps.length && any(mark.tensors, related.tensors)) strengths[number] = 1;
      } else if (any(mark.nodes, related.nodes) || (!mark.nodes.length && any(mark.tensors, related.tensors) && !mark.steps.length)) {
        strengths[number] = 1;
      }
    });
    return strengths;
  }

  live() { return this.steps.map(step => step.live); }
}

const UNITS = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]];

function bytesText(bytes) {
  const [unit, size] = UNITS.find(([, size]) => bytes >= size) ?? ["bytes", 1];
  return size === 1 ? `${bytes} bytes` : `${(bytes / size).toPrecision(bytes / size >= 100 ? 4 : 3)} ${unit}`;
}

function timeText(us) {
  return us === null ? "not measured" : us >= 1e4 ? `${(us / 1e3).toFixed(2)} ms` : `${us.toFixed(us >= 100 ? 0 : 1)} µs`;
}

function counted(number, what) { return `${number} ${what}${number === 1 ? "" : "s"}`; }

// The CPU or the architecture of a target such as #kernel.cpu<"znver5" has [...]>.
function cpuOf(record) { return (/"(.*?)"/.exec(record.target) ?? ["", record.target])[1]; }

function escaped(text) {
  return String(text).replace(/[&<>"]/g, each => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"})[each]);
}

// Ends of paths that tell names apart, such as "layer1/conv2" of "/model/layer1/conv2".
function shortName(name, most) {
  return name.length <= most ? name : `…${name.slice(1 - most)}`;
}
