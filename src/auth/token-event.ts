/** A token was obtained. */
export interface TokenEvent {
  readonly grant: "password" | "refresh_token";
  /** Its lifetime, counted from before the request; absent where the response gave none. */
  readonly expiresInMs?: number;
}
