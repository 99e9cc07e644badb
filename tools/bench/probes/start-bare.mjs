process.stdout.write(`${JSON.stringify({ ms: performance.now() })}\n`);
