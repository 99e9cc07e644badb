import { whyLogIsApart } from "../../src/journals/sqlite-place.js";

// Starts within mounts of its own, which a test has made.
console.log(whyLogIsApart(process.argv[2] ?? ""));
