/** Why a question has no answer. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

/** No further request is sent. */
export class BudgetSpent extends NoAnswer {
  constructor() {
    super("the budget of requests is spent: see --budget");
  }
}
