// Evaluates expressions with GitHub's package. Each line of standard input is {"contexts": …, "texts": […]}; each line
// of standard output holds the answers, with their types spelled out so that nothing is lost in JSON.
//
// The package is the evaluator of GitHub's editors. In five places it is known to differ from the evaluator that runs
// workflows (github.com/actions/runner), and is mended here, so that the comparison is with the latter:
//   1. a number becomes text with fifteen digits (.NET's G15), also in toJSON;
//   2. every '' in a string is one quote, not only the first;
//   3. case() looks at no more arguments than it must;
//   4. no comma may stand before the closing parenthesis of a call;
//   5. objects have no keys of JavaScript's own, such as "constructor".
import { createInterface } from "node:readline";
import { Evaluator, Lexer, Parser, data, wellKnownFunctions } from "@actions/expressions";

const STRING = 18, COMMA = 5, RIGHT_PARENTHESIS = 2;
const toJson = wellKnownFunctions.tojson;

function g15(number) {
  if (number === 0) return "0";
  if (!Number.isFinite(number)) return String(number);
  const [mantissa, exponent] = number.toExponential(14).split("e");
  const digits = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  const power = Number(exponent);
  if (power >= 15 || power < -4) {
    return `${digits}E${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  const plain = Number(number.toPrecision(15));
  const text = plain.toFixed(Math.max(0, Math.min(20, 14 - power)));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

data.NumberData.prototype.coerceString = function () {
  return g15(this.value);
};

const writeJson = {
  ...toJson,
  call: (value) => {
    const marked = (item) => {
      if (item.kind === data.Kind.Number) return new data.StringData(`\u0001${g15(item.value)}\u0001`);
      if (item.kind === data.Kind.Array) return new data.Array(...item.values().map(marked));
      if (item.kind !== data.Kind.Dictionary) return item;
      return dictionary(item.pairs().map(({ key, value }) => ({ key, value: marked(value) })));
    };
    const text = toJson.call(marked(value)).value;
    return new data.StringData(text.replace(/"\\u0001(.*?)\\u0001"/g, "$1"));
  },
};

function dictionary(pairs) {
  const made = new data.Dictionary();
  made.indexMap = Object.create(null);
  for (const { key, value } of pairs) made.add(key, value);
  return made;
}

class RunnerEvaluator extends Evaluator {
  visitFunctionCall(call) {
    if (call.functionName.lexeme.toLowerCase() !== "case") return super.visitFunctionCall(call);
    const last = call.args.length - 1;
    for (let at = 0; at < last; at += 2) {
      const condition = this.eval(call.args[at]);
      if (condition.kind !== data.Kind.Boolean) throw new Error("case predicate must be a boolean");
      if (condition.value) return this.eval(call.args[at + 1]);
    }
    return this.eval(call.args[last]);
  }
}

const status = (name, value) => ({ name, minArgs: 0, maxArgs: 0, call: () => new data.BooleanData(value) });
const extensions = [status("success", true), status("failure", false), status("always", true), status("cancelled", false)];
const functions = new Map(extensions.map((each) => [each.name, each]));
functions.set("tojson", writeJson);

function spelled(value) {
  switch (value.kind) {
    case data.Kind.Null:
      return ["null"];
    case data.Kind.Boolean:
      return ["boolean", value.value];
    case data.Kind.Number:
      return ["number", String(value.value)];
    case data.Kind.String:
      return ["string", value.value];
    case data.Kind.Array:
      return ["array", value.values().map(spelled)];
    default:
      return ["object", value.pairs().map(({ key, value: item }) => [key, spelled(item)])];
  }
}

function answer(text, contexts) {
  try {
    const { tokens } = new Lexer(text).lex();
    for (const [at, token] of tokens.entries()) {
      if (token.type === STRING) token.value = token.lexeme.slice(1, -1).replaceAll("''", "'");
      if (token.type === COMMA && tokens[at + 1].type === RIGHT_PARENTHESIS) throw new Error("trailing comma");
    }
    const names = contexts.pairs().map(({ key }) => key);
    const tree = new Parser(tokens, names, extensions).parse();
    if (tree === undefined) throw new Error("an expression was expected");
    return spelled(new RunnerEvaluator(tree, contexts, functions).evaluate());
  } catch (error) {
    return ["error", String(error.message)];
  }
}

function read(value) {
  if (value === null) return new data.Null();
  if (Array.isArray(value)) return new data.Array(...value.map(read));
  switch (typeof value) {
    case "boolean":
      return new data.BooleanData(value);
    case "number":
      return new data.NumberData(value);
    case "string":
      return new data.StringData(value);
    default:
      return dictionary(Object.entries(value).map(([key, item]) => ({ key, value: read(item) })));
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { contexts, texts } = JSON.parse(line);
  const values = read(contexts);
  process.stdout.write(JSON.stringify(texts.map((text) => answer(text, values))) + "\n");
}
