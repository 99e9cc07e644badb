/** Next calls it once, when the server starts: before the first request, and not during `next build`. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME === "nodejs") {
    const { start } = await import("./payments.ts");
    await start();
  }
}
