import { openClient } from "../client.mjs";

/** What keeps a process busy that has a client and has not called it. */
// Output to a pipe is busy from its first use on, and is not the client's.
process.stdout.write("\n");
const before = process.getActiveResourcesInfo();
const client = await openClient(process.argv[2]);
const opened = [...process.getActiveResourcesInfo()];
for (const name of before) if (opened.includes(name)) opened.splice(opened.indexOf(name), 1);
process.stdout.write(`${JSON.stringify({ opened })}\n`);
await client.close();
