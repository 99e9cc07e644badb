import { connection } from "next/server";
import { health } from "../../../orders.ts";
import { respond } from "../../payments.ts";

export async function GET(): Promise<Response> {
  // Not while the application is built.
  await connection();
  return respond(health);
}
