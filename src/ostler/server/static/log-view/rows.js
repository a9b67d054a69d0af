// Maps rows on screen to lines of the log and back, without a list of lines: steps add a heading
// row, folded steps and groups take rows away, and between those few places both count alike.

/** A stretch is one heading (`step`) or consecutive lines (`line` …); `row` is where it starts. */
export class RowMap {
  #stretches = [{ row: 0, line: 1, count: Infinity }];
  #steps = [];
  #foldedSteps = new Set();
  #groups = new Map();
  total = 0;

  /** `steps`: `[{index, name, first, …}]`; those whose first line is unknown are left out. */
  setSteps(steps) {
    const started = steps.filter((step) => step.first > 0).sort((a, b) => a.first - b.first || a.index - b.index);
    const same = started.length === this.#steps.length
      && started.every((step, at) => step.first === this.#steps[at].first && step.label === this.#steps[at].label);
    if (same) return false;
    this.#steps = started;
    this.#rebuild();
    return true;
  }

  get steps() {
    return this.#steps;
  }

  isFolded(step) {
    return this.#foldedSteps.has(step.index);
  }

  toggleStep(step) {
    if (!this.#foldedSteps.delete(step.index)) this.#foldedSteps.add(step.index);
    this.#rebuild();
  }

  isGroupFolded(line) {
    return this.#groups.has(line);
  }

  foldGroup(line, last) {
    if (last > line) this.#groups.set(line, last);
    this.#rebuild();
  }

  openGroup(line) {
    this.#groups.delete(line);
    this.#rebuild();
  }

  /** Opens whatever hides a line, so that a link or a search hit can be shown. */
  reveal(line) {
    const step = this.stepOf(line);
    if (step) this.#foldedSteps.delete(step.index);
    for (const [first, last] of this.#groups) if (line > first && line <= last) this.#groups.delete(first);
    this.#rebuild();
  }

  stepOf(line) {
    return this.#steps.findLast((step) => step.first <= line);
  }

  lastLineOf(step) {
    const next = this.#steps[this.#steps.indexOf(step) + 1];
    return next ? next.first - 1 : Infinity;
  }

  get rows() {
    const last = this.#stretches.at(-1);
    if (!last) return 0;
    if (last.count !== Infinity) return last.row + last.count;
    return last.row + Math.max(0, this.total - last.line + 1);
  }

  /** What stands in a row: `{step}` or `{line}`. */
  at(row) {
    const stretch = this.#find(row, "row");
    return stretch.step ? { step: stretch.step } : { line: stretch.line + row - stretch.row };
  }

  /** The row of a line, or of the heading that hides it. */
  rowOf(line) {
    const stretch = this.#find(line, "line");
    const last = stretch.row + stretch.count - 1;
    return Math.min(stretch.step ? stretch.row : stretch.row + line - stretch.line, last);
  }

  #find(value, key) {
    let low = 0;
    let high = this.#stretches.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#stretches[middle][key] <= value) low = middle;
      else high = middle - 1;
    }
    return this.#stretches[low];
  }

  #hidden() {
    const ranges = [...this.#groups].map(([first, last]) => {
      const step = this.stepOf(first);
      return [first + 1, Math.min(last, step ? this.lastLineOf(step) : Infinity)];
    });
    for (const step of this.#steps) if (this.isFolded(step)) ranges.push([step.first, this.lastLineOf(step)]);
    return ranges.sort((a, b) => a[0] - b[0]);
  }

  #rebuild() {
    const stretches = [];
    const hidden = this.#hidden();
    let row = 0;
    const lines = (from, to) => {
      let line = from;
      for (const [first, last] of hidden) {
        if (last < line || first > to) continue;
        push(line, Math.min(first - 1, to));
        line = Math.max(line, last + 1);
      }
      push(line, to);
    };
    const push = (from, to) => {
      if (to < from || from === Infinity) return;
      stretches.push({ row, line: from, count: to - from + 1 });
      row += to - from + 1;
    };
    let line = 1;
    for (const step of this.#steps) {
      lines(line, step.first - 1);
      stretches.push({ row, line: step.first, count: 1, step });
      row += 1;
      line = step.first;
    }
    lines(line, Infinity);
    this.#stretches = stretches;
  }
}
