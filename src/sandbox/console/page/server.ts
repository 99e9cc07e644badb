import type { ConsoleState } from "../console-state.js";
import { byId } from "./elements.js";

const message = byId("message", HTMLElement);

/** Says something to everybody, those who can't see it too. */
export function say(text: string, isProblem = false): void {
  message.textContent = text;
  message.classList.toggle("problem", isProblem);
}

/** Asks the console to do something; what it was told, or nothing where it was refused, which is said. */
export async function act(name: string, fields: Readonly<Record<string, unknown>>): Promise<unknown> {
  try {
    const response = await fetch(name, {
      method: "POST",
      headers: { "content-type": "application/json", "x-sandbox-console": "1" },
      body: JSON.stringify(fields),
    });
    const told = await response.json();
    if (response.ok) return told;
    say(`Refused: ${told.message}`, true);
  } catch {
    say("The sandbox does not respond.", true);
  } finally {
    void look();
  }
  return undefined;
}

let etag = "";
let timer: ReturnType<typeof setTimeout> | undefined;
let show: (state: ConsoleState) => void = () => {};

/** Shows the state now, and whenever it has changed while somebody looks. */
export function follow(callback: (state: ConsoleState) => void): void {
  show = callback;
  document.addEventListener("visibilitychange", () => void look());
  void look();
}

const betweenLooksMs = 700;
/** Looks that overlap: only the last one goes on. */
let looks = 0;

async function look(): Promise<void> {
  clearTimeout(timer);
  looks += 1;
  const number = looks;
  showConnection(await read());
  if (number === looks && !document.hidden) timer = setTimeout(() => void look(), betweenLooksMs);
}

let wasConnected: boolean | undefined;

function showConnection(isConnected: boolean): void {
  if (isConnected === wasConnected) return;
  const connection = byId("connection", HTMLElement);
  connection.textContent = isConnected ? "live" : "the sandbox does not respond; trying again";
  connection.classList.toggle("problem", !isConnected);
  if (!isConnected) say("The sandbox does not respond.", true);
  else if (wasConnected === false) say("The sandbox responds again.");
  wasConnected = isConnected;
}

async function read(): Promise<boolean> {
  try {
    const response = await fetch("state", { headers: etag === "" ? {} : { "if-none-match": etag }, cache: "no-store" });
    if (response.status === 304) return true;
    if (!response.ok) return false;
    const state: ConsoleState = await response.json();
    etag = response.headers.get("etag") ?? "";
    show(state);
    return true;
  } catch {
    return false;
  }
}
