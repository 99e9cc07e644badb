import type { NextConfig } from "next";

export default {
  // Loaded by Node as they are: they have drivers and threads of their own.
  serverExternalPackages: ["cross-border-payments", "pg"],
} satisfies NextConfig;
