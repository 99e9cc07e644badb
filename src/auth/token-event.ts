/** A token was obtained from the token endpoint. */
export interface TokenEvent {
  readonly grant: "password" | "refresh_token";
  /** Its lifetime, counted from before the request; absent where the response gave none. */
  readonly expiresInMs?: number;
  /**
   * With a `tokenStore` only: whether the token lies there for the other processes. Where it is false time and again, the store
   * can't be used.
   */
  readonly shared?: boolean;
}
