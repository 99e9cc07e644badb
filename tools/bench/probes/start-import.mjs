import "../.client/node_modules/cross-border-payments/dist/index.js";

process.stdout.write(`${JSON.stringify({ ms: performance.now() })}\n`);
