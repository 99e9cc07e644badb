/** A port of loopback that nobody listens on: none of those that systems give to whoever asks for any, which another test may get meanwhile. */
export function freePort(): Promise<number>;
