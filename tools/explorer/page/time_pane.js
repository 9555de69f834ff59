// Kernel calls with their measured, or else estimated, times, and the least time that the machine's limits allow.
"use strict";

class TimePane {
  constructor(page, section) {
    this.page = page;
    this.section = section;
    this.byTime = true;
    section.innerHTML = `<div class="bar"><strong>Time</strong><button data-order="time">longest</button><button data-order="lost">most lost</button>` +
      `<button data-order="step">in order</button><span class="told"></span></div><div class="body"></div>`;
    [this.bar, this.body] = section.children;
    this.order = "time";
    this.bar.querySelectorAll("button").forEach(button => { button.onclick = () => { this.order = button.dataset.order; this.show(); }; });
    this.body.addEventListener("click", event => {
      const row = event.target.closest(".time");
      if (row) page.select({kind: "step", id: Number(row.dataset.step)});
    });
  }

  show() {
    const record = this.page.record;
    const time = step => step.us ?? step.estimated_us ?? 0;
    const lost = step => step.limit_us === null ? time(step) : Math.max(0, time(step) - step.limit_us);
    const rows = record.steps.map((step, id) => ({step, id})).filter(({step}) => step.schedule);
    if (this.order === "time") rows.sort((a, b) => time(b.step) - time(a.step));
    if (this.order === "lost") rows.sort((a, b) => lost(b.step) - lost(a.step));
    this.bar.querySelectorAll("button").forEach(button => button.classList.toggle("on", button.dataset.order === this.order));
    const most = rows.reduce((most, {step}) => Math.max(most, time(step), step.limit_us ?? 0), 1e-9);
    const measured = record.run_us !== null;
    this.bar.querySelector(".told").textContent = measured ? `${timeText(record.run_us)} on ${record.threads} thread${record.threads === 1 ? "" : "s"}` : "estimated";
    this.body.innerHTML = rows.map(({step, id}) => {
      const limit = step.limit_us === null ? "" : `<div class="limit" style="width:${100 * step.limit_us / most}%"></div>`;
      const share = step.limit_us === null ? "" : ` · ${Math.round(100 * step.limit_us / Math.max(time(step), 1e-9))} %`;
      const node = step.nodes.length ? record.nodes[step.nodes[0]].name : "";
      const title = `${step.kernel} (${step.schedule}), step ${id}, ${node}: ${timeText(time(step))}` +
        (step.limit_us === null ? "" : `, limit ${timeText(step.limit_us)} by ${step.limited_by}`);
      return `<div class="time" data-step="${id}" title="${escaped(title)}"><span><b class="k">${id}</b> ${escaped(step.kernel)}</span>` +
        `<div class="track"><div style="width:${100 * time(step) / most}%"></div>${limit}</div><span class="us">${timeText(time(step))}${share}</span></div>`;
    }).join("");
    this.highlight();
  }

  highlight() {
    const related = this.page.record.related(this.page.selection);
    let first = null;
    this.body.querySelectorAll(".time").forEach(row => {
      const on = related.steps.has(Number(row.dataset.step));
      row.classList.toggle("strong", on);
      if (on && !first) first = row;
    });
    if (first && (first.offsetTop < this.body.scrollTop || first.offsetTop + 20 > this.body.scrollTop + this.body.clientHeight + this.body.offsetTop)) {
      this.body.scrollTop = first.offsetTop - this.body.offsetTop - this.body.clientHeight / 2;
    }
  }
}
