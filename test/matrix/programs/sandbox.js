import { startSandbox } from "cross-border-payments/sandbox";

/** The sandbox is CommonJS, which not every bundler can put into an ES module. */
startSandbox({ console: true }).then(async (server) => {
  const page = await (await fetch(server.consoleUrl)).text();
  process.stdout.write(JSON.stringify({ console: /<title>(.*)</.exec(page)?.[1] }));
  await server.close();
});
