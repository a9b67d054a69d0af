// Parses workflows and actions with GitHub's package. Each line of standard input is {"kind": …, "content": …}; each
// line of standard output is the list of errors. Features that editors still switch on one by one are all on.
import { register } from "node:module";
import { createInterface } from "node:readline";

register("./json.mjs", import.meta.url);
const load = (name) => import(`@actions/${name}`);
const { FeatureFlags } = await load("expressions/features");
const { convertActionTemplate, getActionSchema, parseAction } = await load("workflow-parser/actions/index");
const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await load("workflow-parser");
const { TemplateContext, TemplateValidationErrors } = await load("workflow-parser/templates/template-context");
const { getWorkflowSchema } = await load("workflow-parser/workflows/workflow-schema");

const featureFlags = new FeatureFlags({ all: true });

async function errors({ kind, content }) {
  const file = { name: kind === "action" ? "action.yml" : "ci.yml", content };
  const schema = kind === "action" ? getActionSchema() : getWorkflowSchema();
  const context = new TemplateContext(new TemplateValidationErrors(), schema, new NoOperationTraceWriter());
  context.state.featureFlags = featureFlags;
  try {
    const { value } = kind === "action" ? parseAction(file, context) : parseWorkflow(file, context);
    if (value === undefined) return context.errors.getErrors().map((error) => error.message);
    if (kind === "action") convertActionTemplate(context, value);
    else await convertWorkflowTemplate(context, value, undefined, { featureFlags });
    return context.errors.getErrors().map((error) => error.message);
  } catch (error) {
    return [...context.errors.getErrors().map((each) => each.message), `thrown: ${error.message}`];
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await errors(JSON.parse(line))));
}
