export interface Finding {
  readonly check: string;
  readonly status: "ok" | "warning" | "failed" | "skipped";
  readonly found: string;
  readonly remedy?: string;
}

export type Result = Omit<Finding, "check">;

export const ok = (found: string): Result => ({ status: "ok", found });
export const warning = (found: string, remedy: string): Result => ({ status: "warning", found, remedy });
export const failed = (found: string, remedy: string): Result => ({ status: "failed", found, remedy });
export const skipped = (found: string): Result => ({ status: "skipped", found });

/** The name of an error's kind that people look for: its code. */
export function codeOf(error: unknown): string {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return typeof code === "string" ? code : String(message ?? error);
}
