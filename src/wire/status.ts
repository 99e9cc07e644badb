/** A 4xx that means more than its first digit. */
interface Exception {
  /** Something may have been done before it was sent. */
  readonly provesNothing?: true;
  /** The same request can succeed later. */
  readonly passes?: true;
}

const exceptions: ReadonlyMap<number, Exception> = new Map([
  [408, { provesNothing: true, passes: true }],
  [409, { provesNothing: true }],
  [421, { provesNothing: true }],
  [425, { provesNothing: true, passes: true }],
  [429, { passes: true }],
  [499, { provesNothing: true }],
]);

/** Whether a 4xx leaves open if something was done. Any other 4xx says that nothing was, if it's the server's own. */
export function provesNothing(status: number): boolean {
  return exceptions.get(status)?.provesNothing === true;
}

/** Whether the same request can succeed later. */
export function isPassingStatus(status: number): boolean {
  return status >= 500 || exceptions.get(status)?.passes === true;
}

/** Whether a status refuses the question, such as an unknown parameter, and not the caller or the time. */
export function isRefusedQuestion(status: number): boolean {
  return status === 400 || status === 422;
}
