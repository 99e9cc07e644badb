import { listQuestions } from "./list-questions.js";
import type { Question } from "./question.js";
import { responseQuestions } from "./response-questions.js";
import { writeQuestions } from "./write-questions.js";

/** Every question, in the order in which they are asked. */
export const questions: readonly Question[] = [...listQuestions, ...responseQuestions, ...writeQuestions];
