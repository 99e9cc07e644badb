#!/usr/bin/env node
import { createRequire } from "node:module";

// Commander is CommonJS. As a part of this bundle it requires Node's modules by this name.
Object.assign(globalThis, { require: createRequire(import.meta.url) });
await import("./main.js");
