import { showAnswer } from "./answer.js";
import { describeAnswer } from "./answer-notice.js";
import { faultOfAnswer, showFault } from "./field-fault.js";

/** Shows the answer to a call, with the fault beside its field, or what to do about another failure. */
export function showOutcome(section, operation, answer) {
  const fault = faultOfAnswer(answer, operation);
  showAnswer(section, answer, fault === undefined ? describeAnswer(answer) : undefined);
  if (fault !== undefined) {
    showFault(section, fault.name, fault.message);
  }
}
