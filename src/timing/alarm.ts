/** Something that happens once. Like an `AbortSignal`, but of two words: each flow has one, and few of them ever go off. */
export class Alarm {
  readonly #listeners = new Set<() => void>();
  #hasGoneOff = false;

  goOff(): void {
    if (this.#hasGoneOff) return;
    this.#hasGoneOff = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  /** Calls the listener when it goes off, at once if it has. The function that it returns removes the listener. */
  listen(listener: () => void): () => void {
    if (this.#hasGoneOff) listener();
    else this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
