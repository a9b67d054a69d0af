"""What a matrix or a call hands on of the outputs of its jobs."""

from ostler.expr.values import Value
from ostler.workflow.run.book import Book
from ostler.workflow.run.evaluation import Evaluator
from ostler.workflow.run.scopes import Scope, as_value, within


def outputs_of_matrix(book: Book, matrix_id: str) -> dict[str, str]:
    """Return each output as the job that ended last has set it; of calls only those that succeeded count."""
    cells = sorted((book.nodes[cell] for cell in book.children[matrix_id]), key=lambda cell: cell.turn)
    outputs: dict[str, str] = {}
    for cell in cells:
        if cell.kind == "job" or cell.conclusion == "success":
            outputs.update({name: value for name, value in cell.outputs.items() if value})
    return outputs


def outputs_of_call(book: Book, scope: Scope, evaluator: Evaluator) -> dict[str, str]:
    """Return what a called workflow declares, from the outputs of its jobs."""
    trigger = scope.workflow.trigger("workflow_call")
    if trigger is None or not trigger.outputs:
        return {}
    jobs: dict[str, Value] = {}
    for job in scope.graph.jobs:
        node = book.nodes[within(scope.id, job)]
        jobs[job] = {"result": node.conclusion, "outputs": as_value(node.outputs)}
    contexts = scope.contexts | {"jobs": jobs}
    return {
        name: evaluator.text(f"the output {name}", output.value, contexts) for name, output in trigger.outputs.items()
    }
