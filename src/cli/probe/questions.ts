import { fieldQuestions } from "./field-questions.js";
import { listQuestions } from "./list-questions.js";
import { paymentQuestions } from "./payment-questions.js";
import type { Question } from "./question.js";
import { responseQuestions } from "./response-questions.js";
import { signatureQuestions } from "./signature-questions.js";

/** Every question, in the order in which they are asked. */
export const questions: readonly Question[] = [
  ...[...listQuestions, ...responseQuestions],
  ...[...signatureQuestions, ...fieldQuestions, ...paymentQuestions],
];
