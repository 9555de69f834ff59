// The ONNX graph, or the kernels that became of it; positions come with the record.
"use strict";

class GraphPane {
  constructor(page, section) {
    this.page = page;
    this.section = section;
    this.kind = "node";
    this.scale = 1;
    section.innerHTML = `<div class="bar"><button data-kind="node">ONNX</button><button data-kind="step">kernels</button>` +
      `<button data-zoom="0.8" title="Smaller">−</button><button data-zoom="1.25" title="Larger">+</button>` +
      `<button data-zoom="fit">fit</button><span class="told"></span></div><div class="body"></div>`;
    [this.bar, this.body] = section.children;
    this.bar.querySelectorAll("[data-kind]").forEach(button => { button.onclick = () => this.show(button.dataset.kind); });
    this.bar.querySelectorAll("[data-zoom]").forEach(button => { button.onclick = () => this.zoom(button.dataset.zoom); });
    this.body.addEventListener("click", event => {
      const node = event.target.closest(".node");
      if (node) page.select({kind: node.dataset.kind, id: Number(node.dataset.id)});
    });
    this.body.addEventListener("wheel", event => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15);
    }, {passive: false});
  }

  show(kind = this.kind) {
    this.kind = kind;
    const record = this.page.record, graph = record.graphs[kind];
    this.bar.querySelectorAll("[data-kind]").forEach(button => button.classList.toggle("on", button.dataset.kind === kind));
    const edges = graph.edges.map(points => `<path d="M${points.map(point => point.join(" ")).join("L")}"/>`);
    const nodes = graph.nodes.map(([type, id, label, name, x, y, width, height]) =>
      `<g class="node" data-kind="${type}" data-id="${id}"><title>${escaped(type === "tensor" || kind === "node" ? record.nameOf({kind: type, id}) : record.steps[id].kernel)}</title>` +
      `<rect x="${x - width / 2}" y="${y - height / 2}" width="${width}" height="${height}"/>` +
      `<text x="${x}" y="${name ? y - 1 : y + 4}">${escaped(label)}</text>` +
      (name ? `<text class="name" x="${x}" y="${y + 10}">${escaped(name)}</text>` : "") + "</g>");
    this.width = graph.width + 20;
    this.height = graph.height + 20;
    this.body.innerHTML = `<svg viewBox="-10 -10 ${this.width} ${this.height}"><g>${edges.join("")}</g>${nodes.join("")}</svg>`;
    this.svg = this.body.firstChild;
    this.places = new Map(graph.nodes.map((node, at) => [`${node[0]}${node[1]}`, {node, element: this.svg.querySelectorAll(".node")[at]}]));
    this.bar.querySelector(".told").textContent = `${graph.nodes.filter(node => node[0] === kind).length}`;
    this.scale = Math.min(1, Math.max(0.7, (this.body.clientWidth - 16) / this.width));
    this.resize();
    const first = graph.nodes[0];
    if (first) this.body.scrollLeft = (first[4] + 10) * this.scale - this.body.clientWidth / 2;
    this.highlight();
  }

  zoom(by) {
    const middle = [this.body.scrollLeft + this.body.clientWidth / 2, this.body.scrollTop + this.body.clientHeight / 2].map(each => each / this.scale);
    this.scale = by === "fit" ? Math.min(this.body.clientWidth / this.width, this.body.clientHeight / this.height) : Math.min(3, this.scale * Number(by));
    this.resize();
    this.body.scrollLeft = middle[0] * this.scale - this.body.clientWidth / 2;
    this.body.scrollTop = middle[1] * this.scale - this.body.clientHeight / 2;
  }

  resize() {
    this.svg.setAttribute("width", this.width * this.scale);
    this.svg.setAttribute("height", this.height * this.scale);
  }

  highlight() {
    const thing = this.page.selection, related = this.page.record.related(thing);
    const sets = {node: related.nodes, step: related.steps, tensor: related.tensors};
    let first = null;
    this.svg.querySelectorAll(".strong, .weak").forEach(element => element.classList.remove("strong", "weak"));
    for (const {node, element} of this.places.values()) {
      if (!sets[node[0]].has(node[1])) continue;
      const strong = thing.kind === node[0] ? thing.id === node[1] : true;
      element.classList.add(strong ? "strong" : "weak");
      if (strong && !first) first = node;
    }
    if (!first) return;
    const [x, y] = [(first[4] + 10) * this.scale, (first[5] + 10) * this.scale];
    const {scrollLeft: left, scrollTop: top, clientWidth: width, clientHeight: height} = this.body;
    if (x < left + 20 || x > left + width - 20) this.body.scrollLeft = x - width / 2;
    if (y < top + 20 || y > top + height - 20) this.body.scrollTop = y - height / 2;
  }
}
