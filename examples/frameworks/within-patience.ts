/** `undefined` when the time is over, or the process is to end, before there is an outcome. */
export async function withinPatience<T>(
  outcome: Promise<T>,
  ms: number,
  stopping: AbortSignal,
): Promise<T | undefined> {
  let stopWaiting = () => {};
  const waited = new Promise<undefined>((resolve) => {
    const timer = setTimeout(resolve, ms, undefined);
    const onStop = () => resolve(undefined);
    stopping.addEventListener("abort", onStop);
    if (stopping.aborted) onStop();
    stopWaiting = () => {
      clearTimeout(timer);
      stopping.removeEventListener("abort", onStop);
    };
  });
  return Promise.race([outcome, waited]).finally(stopWaiting);
}
