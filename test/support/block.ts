/** Blocks the whole process, as SIGSTOP or a long garbage collection would: no timer fires meanwhile. */
export function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
