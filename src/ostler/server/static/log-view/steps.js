// Reads the steps of a job from the list on the page, which the server keeps up to date.

/** `[{index, name, first, tone, duration, label}]` of every `[data-step]` inside `list`. */
export function readSteps(list) {
  return [...list.querySelectorAll("[data-step]")].map((element) => {
    const { step, name, firstLine, tone, duration } = element.dataset;
    return {
      index: Number(step), name, first: Number(firstLine) || 0, tone, duration: duration ?? "",
      label: `${step} ${name} ${tone} ${duration}`,
    };
  });
}
