import type { KnownSurvivor } from "../known-survivor.js";

export const flows: readonly KnownSurvivor[] = [];
