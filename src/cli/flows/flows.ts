import type { Command } from "commander";
import type { Terminal } from "../terminal.js";
import { addDecisions } from "./decide.js";
import { addDesk } from "./desk.js";
import { addList } from "./list.js";
import { addPrune, addSchema } from "./maintain.js";
import { addShow } from "./show.js";

export function addFlows(program: Command, terminal: Terminal): void {
  const flows = program
    .command("flows")
    .helpCommand(false)
    .helpGroup("Flows:")
    .summary("list, show, and decide about durable flows")
    .description(
      "Durable flows in a journal: what waits for an operator, and decisions about it. Nothing here moves money.",
    );
  addList(flows, terminal);
  addShow(flows, terminal);
  addDecisions(flows, terminal);
  addDesk(flows, terminal);
  addPrune(flows, terminal);
  addSchema(flows, terminal);
}
