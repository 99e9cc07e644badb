import { spawn } from "node:child_process";
import { bundleSimulation } from "./bundle-simulation.js";

/** `npm run simulate`: builds the simulation, and runs it with the arguments that it was given. */

const { file, remove } = await bundleSimulation([], { marksBranches: true });
const child = spawn(process.execPath, [file, ...process.argv.slice(2)], { stdio: "inherit" });
child.on("exit", (code) => {
  remove();
  process.exitCode = code ?? 1;
});
