import type { KnownSurvivor } from "../known-survivor.js";

export const errors: readonly KnownSurvivor[] = [];
