export function byId<Kind extends HTMLElement>(id: string, kind: abstract new () => Kind): Kind {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`the page has no ${id}`);
}

/** A new element. Texts become text, never markup. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Readonly<Record<string, string>>,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Facts with their names; those without a value are left out. */
export function factList(facts: Readonly<Record<string, string>>): HTMLDListElement {
  const shown = Object.entries(facts).filter(([, value]) => value !== "");
  return make("dl", {}, ...shown.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

const built = new WeakMap<Node, string>();

/**
 * Makes the children of a list those of the items, and keeps the elements of items that have not changed, so that nobody loses what
 * they had selected or opened. Where the item that has the focus changed, its control of the same name gets it back.
 */
export function fill<Item extends { readonly id: string }>(
  list: Element,
  items: readonly Item[],
  build: (item: Item) => HTMLElement,
): void {
  const old = new Map([...list.children].map((child) => [child.getAttribute("data-id"), child]));
  for (const [index, item] of items.entries()) {
    const text = JSON.stringify(item);
    const kept = old.get(item.id);
    old.delete(item.id);
    let element: Element | undefined = kept;
    if (kept === undefined || built.get(kept) !== text) {
      element = build(item);
      element.setAttribute("data-id", item.id);
      built.set(element, text);
      if (kept !== undefined) replace(kept, element);
    }
    const place = list.children[index];
    if (element !== undefined && place !== element) list.insertBefore(element, place ?? null);
  }
  for (const gone of old.values()) gone.remove();
}

function replace(old: Element, fresh: Element): void {
  const name = old.contains(document.activeElement) ? document.activeElement?.getAttribute("name") : null;
  old.replaceWith(fresh);
  const control = name && fresh.querySelector(`[name="${name}"]`);
  if (control instanceof HTMLElement) control.focus();
}
