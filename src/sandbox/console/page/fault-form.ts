import type { ArmedFault, ConsoleState, FaultKind } from "../console-state.js";
import { byId, fill, make } from "./elements.js";
import { act, say } from "./server.js";

const form = byId("fault-form", HTMLFormElement);

const effects: Readonly<Record<FaultKind, string>> = {
  lost: "loses its response",
  delay: "gets its response late",
  unavailable: "gets a 503, and is not carried out",
};

export function faultName(kind: FaultKind): string {
  return { lost: "response lost", delay: "response delayed", unavailable: "503 by the console" }[kind];
}

export function setUpFaults(): void {
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const button of form.querySelectorAll<HTMLButtonElement>("button.fault")) {
    button.addEventListener("click", async () => {
      if (!form.reportValidity()) return;
      const fields = Object.fromEntries(new FormData(form));
      if (await act("fault", { ...fields, kind: button.value })) say("The fault waits for its request.");
    });
  }
  for (const button of document.querySelectorAll<HTMLButtonElement>("button.revoke")) {
    button.addEventListener("click", async () => {
      if (!(await act("revoke-tokens", { which: button.value }))) return;
      say(button.value === "all" ? "All tokens are revoked." : "The access tokens are revoked.");
    });
  }
}

export function showFaults({ faults, operations }: ConsoleState): void {
  const of = byId("fault-of", HTMLSelectElement);
  if (of.options.length === 0) {
    of.append(
      make("option", { value: "operations" }, "any operation"),
      make("option", { value: "token" }, "token requests"),
    );
    of.append(...operations.map((name) => make("option", {}, name)));
  }
  fill(byId("armed", HTMLElement), faults, (fault) => {
    const cancel = make("button", { type: "button", name: "cancel" }, "Cancel");
    cancel.addEventListener("click", async () => {
      if (await act("cancel-fault", { id: fault.id })) say("The fault is cancelled.");
      // The button that had the focus is gone.
      form.querySelector<HTMLButtonElement>("button.fault")?.focus();
    });
    return make("li", { class: "row" }, faultText(fault), cancel);
  });
}

function faultText({ kind, of, times, delayMs }: ArmedFault): string {
  const which = { operations: "request of any operation", token: "request for a token" }[of] ?? `request of ${of}`;
  const count = times === 1 ? "The next" : `Each of the next ${times}`;
  const late = kind === "delay" ? ` (${delayMs / 1000} s)` : "";
  return `${count} ${which} ${effects[kind]}${late}.`;
}
