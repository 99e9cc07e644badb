/** What a 4xx says that can't be told from its first digit. */
interface Exception {
  /** Something may have been done before it was sent, by any sender. */
  readonly provesNothing?: true;
  /** The same request can go well at another time. */
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

/** Whether a 4xx leaves open if something was done. Any other one says that nothing was, where it is the server's own. */
export function provesNothing(status: number): boolean {
  return exceptions.get(status)?.provesNothing === true;
}

/** Whether the same request can go well at another time, as far as the status says. */
export function isPassingStatus(status: number): boolean {
  return status >= 500 || exceptions.get(status)?.passes === true;
}

/** Whether a status refuses what was asked, such as a parameter that the service does not know, and not who asks, or when. */
export function isRefusedQuestion(status: number): boolean {
  return status === 400 || status === 422;
}
