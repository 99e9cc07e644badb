import type { KnownSurvivor } from "../known-survivor.js";

export const auth: readonly KnownSurvivor[] = [];
