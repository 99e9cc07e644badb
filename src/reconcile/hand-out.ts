/**
 * Yields what `work` gives, and throws where it fails. The work goes on when the next one is asked for; where
 * nobody does, it never goes on.
 */
export async function* handOut<Item>(
  work: (give: (item: Item) => Promise<void>) => Promise<void>,
): AsyncGenerator<Item, void, undefined> {
  let offered: { readonly item: Item; readonly take: () => void } | undefined;
  let wake = (): void => {};
  let isOver = false;
  const over = work(
    (item) =>
      new Promise((take) => {
        offered = { item, take };
        wake();
      }),
  ).finally(() => {
    isOver = true;
    wake();
  });
  // It is awaited below, but not before the last item was asked for.
  over.catch(() => {});
  for (;;) {
    if (offered === undefined && !isOver) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (offered === undefined) return over;
    const { item, take } = offered;
    offered = undefined;
    yield item;
    take();
  }
}
