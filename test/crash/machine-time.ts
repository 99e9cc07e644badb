/** Milliseconds since the machine was started, by a clock that nobody sets: the same in all its processes. */
export function machineNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
