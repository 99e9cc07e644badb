import type { Command } from "./command.js";
import { completionCommandOf } from "./completion-command.js";
import { doctorCommand } from "./doctor/doctor-command.js";
import { flowsDeskCommand } from "./flows/desk-command.js";
import { flowsListCommand } from "./flows/list-command.js";
import { flowsApproveCommand, flowsProposeCommand, flowsRefuseCommand } from "./flows/pair-commands.js";
import { flowsPruneCommand } from "./flows/prune-command.js";
import { flowsResolveCommand } from "./flows/resolve-command.js";
import { flowsShowCommand } from "./flows/show-command.js";
import { keysGenerateCommand, keysShowCommand } from "./keys-commands.js";
import { listCommandsOf } from "./lists/list-commands.js";
import { showCommandsOf } from "./lists/show-commands.js";
import { sources } from "./lists/sources.js";
import { probeCommand } from "./probe/probe-command.js";
import { sandboxCommand } from "./sandbox/sandbox-command.js";
import { evidenceCommand } from "./verify/evidence-command.js";
import { explainSignatureCommand } from "./verify/explain-signature-command.js";
import { verifyCommand } from "./verify/verify-command.js";

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  keysGenerateCommand,
  keysShowCommand,
  doctorCommand,
  probeCommand,
  explainSignatureCommand,
  verifyCommand,
  evidenceCommand,
  ...listCommandsOf(sources),
  ...showCommandsOf(sources),
  flowsListCommand,
  flowsShowCommand,
  flowsResolveCommand,
  flowsProposeCommand,
  flowsApproveCommand,
  flowsRefuseCommand,
  flowsDeskCommand,
  flowsPruneCommand,
  sandboxCommand,
  completionCommandOf(() => commands),
];
