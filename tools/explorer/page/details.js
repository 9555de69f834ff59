// What is known of the selection, with links to all that it is tied to.
"use strict";

class Details {
  constructor(page, section) {
    this.page = page;
    this.section = section;
    section.innerHTML = `<div class="bar"><strong>Selection</strong><button id="back" title="Back">←</button><span class="told"></span></div><div class="body"></div>`;
    [this.bar, this.body] = section.children;
    this.bar.querySelector("#back").onclick = () => history.back();
    this.body.addEventListener("click", event => {
      const link = event.target.closest("a.to");
      if (!link) return;
      if (link.dataset.kind === "pass") page.showPass(Number(link.dataset.id));
      else page.select({kind: link.dataset.kind, id: Number(link.dataset.id)});
    });
  }

  show() {
    const thing = this.page.selection, record = this.page.record;
    this.record = record;
    this.bar.querySelector(".told").textContent = thing ? thing.kind : "nothing is selected";
    this.body.innerHTML = !thing ? this.overview() : this[thing.kind](thing);
    this.body.scrollTop = 0;
  }

  to(kind, id, text) {
    return `<a class="to" data-kind="${kind}" data-id="${id}">${escaped(text ?? this.record.nameOf({kind, id}))}</a>`;
  }

  step_(id) { return this.to("step", id, `step ${id} ${this.record.steps[id].kernel}`); }

  list(title, links, most = 12) {
    if (!links.length) return "";
    const shown = links.slice(0, most).join(", ");
    return `<h3>${title}</h3><div>${shown}${links.length > most ? ` and ${links.length - most} more` : ""}</div>`;
  }

  table(rows) {
    return `<table>${rows.filter(row => row).map(([name, value]) => `<tr><td>${name}</td><td>${value}</td></tr>`).join("")}</table>`;
  }

  node({id}) {
    const record = this.record, node = record.nodes[id];
    const passes = record.passes.map((pass, number) => ({pass, number}))
      .filter(({pass}) => pass.changes.some(change => change[2] >= 0 && record.marks[change[2]].nodes.includes(id)));
    const together = node.steps.flatMap(step => record.steps[step].nodes).filter(other => other !== id);
    const fused = node.steps.length
      ? `computed by ${node.steps.slice(0, 4).map(step => this.step_(step)).join(", ")}${node.steps.length > 4 ? ` and ${node.steps.length - 4} more` : ""}`
      : "no kernel call is left of it: it was folded, or is a view";
    return `<h2>${escaped(node.name)}</h2>` + this.table([
      ["operator", escaped(node.operator)],
      ["became", fused],
      node.steps.length ? ["time", this.timeOf(node.steps)] : null,
    ]) + this.list("in one kernel with", [...new Set(together)].map(other => this.to("node", other)))
      + this.list("reads", node.inputs.map(tensor => this.to("tensor", tensor)))
      + this.list("makes", node.outputs.map(tensor => `${this.to("tensor", tensor)} (${this.place(tensor)})`))
      + this.list("changed by passes", passes.map(({pass, number}) => this.to("pass", number, pass.name)), 20);
  }

  place(id) {
    const tensor = this.record.tensors[id];
    if (tensor.role === "removed") return tensor.fate || "without bytes of its own";
    return `${bytesText(tensor.bytes)}${tensor.offset === null ? `, ${tensor.role}` : ` at ${tensor.offset}`}`;
  }

  timeOf(steps) {
    const all = steps.map(step => this.record.steps[step]);
    const measured = all.every(step => step.us !== null);
    const sum = all.reduce((sum, step) => sum + (measured ? step.us : step.estimated_us ?? 0), 0);
    const share = this.record.run_us ? `, ${(100 * sum / this.record.run_us).toFixed(1)} % of the run` : "";
    return `${timeText(sum)}${measured ? share : ", estimated"}`;
  }

  step({id}) {
    const record = this.record, step = record.steps[id];
    const candidates = step.candidates.filter(([name]) => name !== step.schedule).sort((a, b) => a[1] - b[1]);
    const best = new Map();
    candidates.forEach(([name, us]) => { if (!best.has(name)) best.set(name, us); });
    const runs = step.runs === 1 ? "" : `, ${step.runs} runs`;
    return `<h2>step ${id}: ${escaped(step.kernel)}</h2>` + this.table([
      step.schedule ? ["schedule", `${escaped(step.schedule)} (${escaped(step.form)})`] : null,
      step.us !== null ? ["time", `${this.timeOf([id])}${runs}`] : null,
      step.estimated_us !== null ? ["estimated", `${timeText(step.estimated_us)} on one core`] : null,
      step.limit_us !== null ? ["limit", `${timeText(step.limit_us)}, by ${step.limited_by}: the call takes ${(step.us / Math.max(step.limit_us, 1e-9)).toFixed(2)} times that`] : null,
      ["work", `${(step.flops / 1e6).toFixed(2)} MFLOP, ${bytesText(step.bytes)} moved at least`],
      ["arena", `${bytesText(step.live)} live, of ${bytesText(record.memory.arena)}${id === record.memory.binding_step ? ": this step binds" : ""}`],
      step.options ? ["options", escaped(step.options)] : null,
    ]) + this.list("computes", step.nodes.map(node => this.to("node", node)))
      + this.list("reads", step.reads.map(tensor => this.to("tensor", tensor)))
      + this.list("writes", step.writes.map(tensor => `${this.to("tensor", tensor)} (${this.place(tensor)})`))
      + this.list("scratch", step.scratch.map(tensor => `${this.to("tensor", tensor)} (${this.place(tensor)})`))
      + this.list("schedules not taken", [...best].map(([name, us]) => `${escaped(name)} ${timeText(us)}`));
  }

  tensor({id}) {
    const record = this.record, tensor = record.tensors[id];
    const rows = [
      ["shape", tensor.shape ? `${tensor.shape.join(" × ") || "scalar"} ${tensor.dtype}` : tensor.dtype || "unknown"],
      tensor.role === "removed" ? ["became", escaped(tensor.fate || "not in the compiled model")] : ["bytes", `${tensor.bytes.toLocaleString("en")} (${tensor.role})`],
      tensor.node !== null ? ["made by", this.to("node", tensor.node)] : null,
      tensor.same !== null ? ["the same as", this.to("tensor", tensor.same)] : null,
    ];
    let more = "";
    if (tensor.offset !== null) {
      const last = tensor.read_at.length ? Math.max(...tensor.read_at) : null;
      rows.push(["addresses", `${tensor.offset.toLocaleString("en")} to ${tensor.end.toLocaleString("en")} of the arena${tensor.inplace ? ", written in place" : ""}`]);
      rows.push(["alive", `steps ${tensor.birth} to ${tensor.death - 1}`]);
      rows.push(["kept alive by", last === null ? "nobody reads it" : `${this.step_(last)}, which reads it last`]);
      const others = record.tensors.map((other, at) => ({other, at})).filter(({other, at}) => at !== id && other.offset !== null);
      const together = others.filter(({other}) => other.birth < tensor.death && tensor.birth < other.death && !tensor.shared.includes(record.tensors.indexOf(other)));
      const over = others.filter(({other}) => other.offset < tensor.end && tensor.offset < other.end && (other.birth >= tensor.death || other.death <= tensor.birth));
      together.sort((a, b) => b.other.bytes - a.other.bytes);
      const next = over.filter(({other}) => other.birth >= tensor.death).sort((a, b) => a.other.birth - b.other.birth);
      more = this.list("alive at the same time", together.map(({other, at}) => `${this.to("tensor", at)} ${bytesText(other.bytes)}`), 8)
        + this.list("its bytes go to", next.map(({other, at}) => `${this.to("tensor", at)} (step ${other.birth})`), 6)
        + this.list("shares bytes with", tensor.shared.map(at => this.to("tensor", at)));
    }
    return `<h2>${escaped(tensor.name)}</h2>` + this.table(rows)
      + this.list(tensor.role === "removed" ? "inside of" : "written by", tensor.steps.map(step => this.step_(step)))
      + this.list("read by kernels", tensor.read_at.map(step => this.step_(step)))
      + this.list("read by nodes", tensor.readers.map(node => this.to("node", node))) + more;
  }

  line(thing) {
    const record = this.record, related = record.related(thing), text = record.textOf[thing.level];
    const lines = Object.entries(related.lines).filter(([level]) => level !== thing.level)
      .map(([level, ids]) => `${level} line${ids.size > 1 ? "s" : ""} ${[...ids].slice(0, 8).map(id => id + 1).join(", ")}${ids.size > 8 ? " …" : ""}`);
    return `<h2>${escaped(thing.level)}, line ${thing.id + 1}</h2><div><code>${escaped(text.lines[thing.id].trim().slice(0, 300))}</code></div>`
      + this.list("tied to", lines)
      + this.list("works on", [...related.tensors].map(id => this.to("tensor", id)))
      + this.list(related.shared ? `runs in, and in ${related.shared} calls more that share the code` : "runs in",
        [...related.steps].map(id => this.step_(id)))
      + this.list("for nodes", [...related.nodes].map(id => this.to("node", id)));
  }

  overview() {
    const record = this.record, memory = record.memory;
    const slow = record.steps.map((step, id) => ({step, id})).filter(({step}) => step.us !== null).sort((a, b) => b.step.us - a.step.us).slice(0, 5);
    const binding = record.tensors.map((tensor, id) => ({tensor, id}))
      .filter(({tensor}) => tensor.offset !== null && tensor.birth <= memory.binding_step && memory.binding_step < tensor.death && tensor.role !== "view")
      .sort((a, b) => b.tensor.bytes - a.tensor.bytes);
    const changed = record.passes.map((pass, id) => ({pass, id})).filter(({pass}) => pass.changes.length || pass.before !== pass.after);
    const options = Object.entries(record.options).map(([name, value]) => `${name} = ${value}`).join(", ") || "all at their defaults";
    return `<h2>${escaped(record.title)}</h2>` + this.table([
      ["graph", `${counted(record.nodes.length, "ONNX node")} became ${counted(record.steps.length, "kernel call")}`],
      ["compiled", `in ${record.seconds.toFixed(2)} s, for ${escaped(cpuOf(record))}`],
      ["options", escaped(options)],
      ["run", record.run_us === null ? "not measured" : `${timeText(record.run_us)}, ${timeText(record.outside_us)} outside of kernels`],
      ["arena", memory.arena
        ? `${bytesText(memory.arena)}; ${bytesText(memory.without_reuse)} without reuse; ${this.step_(memory.binding_step)} binds` : "nothing lies in it"],
    ]) + this.difference()
      + this.list("alive at the step that binds", binding.map(({tensor, id}) => `${this.to("tensor", id)} ${bytesText(tensor.bytes)}`), 8)
      + this.list("longest calls", slow.map(({step, id}) => `${this.step_(id)} ${timeText(step.us)}`))
      + this.list("passes that changed something (ops before → after)", changed.map(({pass, id}) =>
        pass.changes.length ? `${this.to("pass", id, pass.name)} ${pass.before} → ${pass.after}` : `${escaped(pass.name)} ${pass.before} → ${pass.after}`), 40);
  }

  // Two compiles: what differs in the large, and the calls whose times differ most.
  difference() {
    if (this.page.records.length < 2) return "";
    const [a, b] = this.page.records;
    const pair = (name, of, text) => [name, `${text(of(a))} | ${text(of(b))}`];
    const calls = a.steps.map((step, id) => ({step, id, same: a.sameIn(b, {kind: "step", id})}))
      .filter(({step, same}) => same && step.us !== null && b.steps[same.id].us !== null)
      .map(({step, id, same}) => ({id, same: same.id, by: b.steps[same.id].us - step.us}))
      .sort((x, y) => Math.abs(y.by) - Math.abs(x.by)).slice(0, 6);
    const of = this.record === a ? call => call.id : call => call.same;
    return `<h3>A | B</h3>` + this.table([
      ["options", `${escaped(a.label)} | ${escaped(b.label)}`],
      pair("calls", each => each.steps.length, String),
      pair("arena", each => each.memory.arena, bytesText),
      pair("run", each => each.run_us, timeText),
      pair("compile", each => each.seconds, seconds => `${seconds.toFixed(2)} s`),
    ]) + this.list("calls whose times differ most", calls.map(call => `${this.step_(of(call))} ${call.by > 0 ? "+" : "−"}${timeText(Math.abs(call.by))}`));
  }
}
