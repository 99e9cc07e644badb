/** Run it once before a release: its processes only check that the tables are theirs. It needs the right to create tables; they don't. */
import pg from "pg";
import { migrate } from "./migrations.js";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 2 });
await migrate(pool);
await pool.end();
