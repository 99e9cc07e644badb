/** Why a client requests no token at present, and for how long. */
export interface TokenHold {
  /**
   * `refused` (the login), `session-ended`, `throttled`, `failing` (the identity server), `unsent` (no connection), `maybe-sent` (no response),
   * `token-rejected` (the service refuses new tokens too), and so on. It may get further values.
   */
  readonly reason: string;
  /** Whether other credentials, or another login, are needed: waiting does not help. */
  readonly needsLogin: boolean;
  /** In how many milliseconds a token may be requested again. */
  readonly endsInMs: number;
}
